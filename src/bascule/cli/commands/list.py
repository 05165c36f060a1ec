"""`bascule list`: servers and their tools, printed as each server connects, with resources, prompts and token
estimates, which are counted from the text of the definitions, without a model's tokenizer."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import msgspec

from bascule.catalog.resources import Library
from bascule.catalog.search.results import MOST_SHOWN
from bascule.cli import exit_codes
from bascule.cli.json_output.listings import ListedPromptShape, ListedResourceShape, ListShape
from bascule.cli.output.errors import as_json, explain, finding_mark, finding_shapes, first_line, json_line, legible
from bascule.cli.output.level_messages import how_to_go_on
from bascule.cli.output.tables import beneath, fitting, show_beside, terminal
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUIRED, add_common
from bascule.cli.session import agent_session, read_config
from bascule.core.errors import Refused
from bascule.core.prompt import PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.upstream.state import LinkState

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from bascule.config.model.runtime_config import RuntimeConfig
    from bascule.runtime.session import AgentSession

METHOD = (
    "estimated from the letters alone: one token for a word of up to 10 letters, 3 digits, 4 signs, or 2 characters of "
    "another script; models count differently"
)

_PIECE = re.compile(r"[A-Za-z]{1,10}|[0-9]{1,3}|[^\x00-\x7f]{1,2}|[^A-Za-z0-9\s\x80-\U0010ffff]{1,4}")
"""What is a token, more or less. Spaces belong to the word behind them."""


def estimated_tokens(text: str) -> int:
    return sum(1 for _ in _PIECE.finditer(text))


def tokens_of(spec: ToolSpec) -> int:
    """Of one tool as a model is told of it: its name, what it does, and the schema of its arguments."""
    told = {"name": spec.name, "description": spec.description, "input_schema": spec.plain_schema}
    return estimated_tokens(msgspec.json.encode(told).decode())


def tokens_of_all(specs: Iterable[ToolSpec]) -> int:
    return sum(map(tokens_of, specs))


def wanted(options: argparse.Namespace) -> frozenset[str]:
    """What was asked for beside tools."""
    return frozenset(kind for kind in ("resources", "prompts") if getattr(options, kind))


def show_offers(library: Library, kinds: frozenset[str]) -> None:
    from rich.text import Text  # noqa: PLC0415 -- a server's words are printed as they are, never as markup

    console = terminal()
    for head, said, style in _lines(library, kinds):
        show_beside(console, Text(f"  {legible(head)}", style), said)
    for problem in library.problems:
        console.print(Text(f"  {legible(problem)}", "yellow"))


def _lines(library: Library, kinds: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    if "resources" in kinds:
        for spec in library.resources:
            said = f"{spec.kind} of {spec.server}. {first_line(spec.description or spec.name)}"
            yield spec.address, finding_mark(spec.findings) + said, "yellow" if spec.findings else "cyan"
    if "prompts" in kinds:
        for spec in library.all_prompts:
            blanks = ", ".join(f"{blank.name}{'' if blank.required else '?'}" for blank in spec.arguments)
            good = spec.status is ToolStatus.EXPOSED
            said = first_line(f"prompt({blanks}) {spec.description}") if good else f"{spec.status}: {spec.problem}"
            yield (
                spec.name,
                finding_mark(spec.findings) + legible(said),
                "cyan" if good and not spec.findings else "yellow",
            )


def add_offers(shape: ListShape, library: Library, kinds: frozenset[str]) -> None:
    """Put the same into a listing's JSON shape."""
    shape["problems"] = list(library.problems)
    if "resources" in kinds:
        shape["resources"] = [_resource(spec) for spec in library.resources]
    if "prompts" in kinds:
        shape["prompts"] = [_prompt(spec) for spec in library.all_prompts]


def _resource(spec: ResourceSpec) -> ListedResourceShape:
    return {
        "server": spec.server,
        "kind": spec.kind,
        "uri": spec.uri or None,
        "uri_template": spec.uri_template or None,
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "mime_type": spec.mime_type,
        "size": spec.size,
        "digest": spec.digest,
        "findings": finding_shapes(spec.findings),
    }


def _prompt(spec: PromptSpec) -> ListedPromptShape:
    return {
        "name": spec.name,
        "server": spec.key.server,
        "prompt": spec.key.tool,
        "title": spec.title,
        "description": spec.description,
        "arguments": [
            {"name": blank.name, "description": blank.description, "required": blank.required}
            for blank in spec.arguments
        ],
        "digest": spec.digest,
        "status": spec.status,
        "findings": finding_shapes(spec.findings),
    }


ANSWER = MOST_SHOWN // 4
"""Tokens that the answer to one search has at most, more or less."""


def cost_of(spec: ToolSpec) -> int:
    """What agents are not shown costs them nothing."""
    return tokens_of(spec) if spec.status is ToolStatus.EXPOSED else 0


def add_costs(shape: ListShape, specs: Sequence[ToolSpec]) -> None:
    """Put the tokens into a listing's JSON shape."""
    costs = {(spec.key.server, spec.key.tool): cost_of(spec) for spec in specs}
    for tool in shape["tools"]:
        tool["tokens"] = costs[tool["server"], tool["tool"]]
    for server in shape["servers"]:
        server["tokens"] = sum(cost for (name, _), cost in costs.items() if name == server["name"])
    shape["tokens"] = {
        "estimated": True,
        "method": METHOD,
        "all_tools": sum(costs.values()),
        "search_pair": _pair(specs),
        "search_answer_at_most": ANSWER,
    }


def cost_lines(specs: Sequence[ToolSpec]) -> Iterator[str]:
    """The same for people, the dearest first."""
    shown = [spec for spec in specs if spec.status is ToolStatus.EXPOSED]
    yield _line("tokens, estimated", "tokens", "tools")
    for server in sorted({spec.key.server for spec in shown}):
        own = sorted(
            (spec for spec in shown if spec.key.server == server), key=lambda spec: (-cost_of(spec), spec.name)
        )
        yield _line(server, tokens_of_all(own), len(own))
        yield from (_line(f"  {spec.name}", cost_of(spec)) for spec in own)
    yield _line("all tools", tokens_of_all(shown), len(shown))
    yield _line("search_tools and call_tool", _pair(specs), 2)
    yield f"each search adds at most some {ANSWER:,}; `catalog: {{search_above: N}}` gives agents the two above N tools"
    yield METHOD


def _pair(specs: Iterable[ToolSpec]) -> int:
    from bascule.catalog.search.meta_tools import search_pair  # noqa: PLC0415 -- only for `--tokens`

    servers = sorted({spec.key.server for spec in specs if spec.status is ToolStatus.EXPOSED})
    return tokens_of_all(entry.spec for entry in search_pair(tuple(servers)))


def _line(name: str, tokens: int | str, tools: int | str = "") -> str:
    cost = f"{tokens:,}" if isinstance(tokens, int) else tokens
    # A narrow terminal has room for the numbers, and for names as long as most are.
    room = max(min(get_terminal_size((80, 24)).columns - 16, 50), len(name))
    return f"{name:<{room}}{cost:>9}{tools:>7}".rstrip()


_COLOURS = {
    LinkState.READY: "green",
    LinkState.DEGRADED: "yellow",
    LinkState.NEEDS_AUTH: "yellow",
    LinkState.FAILED: "red",
}

_HEAD_WIDTH = 62
"""Columns that the line of a server takes with everything in its place."""

_SHOWN = frozenset({ToolStatus.EXPOSED, ToolStatus.QUARANTINED, ToolStatus.COLLIDING, ToolStatus.UNUSABLE})
"""What a listing shows. A tool the operator has hidden is not part of what agents see."""

_EXAMPLES = """\
  bascule list  every tool of every server in the config of this folder
  bascule list files  only of this server, and no other is started
  bascule list --config ~/.mcp.json  the same for another file
  bascule list --resources --prompts  what the servers offer beside tools as well
  bascule list --tokens  what they cost a model's context, estimated
  bascule list --json | jq .tools  for programs"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES, REQUIRED))
    command.add_argument("servers", metavar="SERVER", nargs="*", help="only this one, and no other is started")
    command.add_argument("--resources", action="store_true", help="list resources and their templates too")
    command.add_argument("--prompts", action="store_true", help="list prompts too")
    command.add_argument("--tokens", action="store_true", help="estimate what the tools cost a model's context")


async def run(options: argparse.Namespace) -> int:
    async with agent_session(options, config=only(read_config(options), options.servers)) as session:
        if options.json:
            reports = [report async for report in session.connecting()]
            specs = session.toolbox.all_specs()
            shape = as_shape(session.servers(), specs)
            if options.tokens:
                add_costs(shape, specs)
            if wanted(options):
                add_offers(shape, await session.library(), wanted(options))
            print(json_line(shape))
        else:
            reports = await _show_as_they_settle(session)
            if options.tokens:
                costs = "\n".join(cost_lines(session.toolbox.all_specs()))
                print("", fitting(legible(costs)), sep="\n")
            if wanted(options):
                show_offers(await session.library(), wanted(options))
        advice = how_to_go_on(session)
        if advice and any(isinstance(report.error, Refused) for report in reports):
            print(legible(f"note: {advice}"), file=sys.stderr)
    return exit_codes.UNREACHABLE if any(r.required and r.error is not None for r in reports) else exit_codes.OK


def only(config: "RuntimeConfig", names: Sequence[str]) -> "RuntimeConfig":
    """The config as if it named these servers alone. All, if none is named."""
    if not names:
        return config
    from bascule.config.find_server import client_server_named  # noqa: PLC0415 -- slow, and not for the options

    return replace(config, servers={name: client_server_named(config, name) for name in names})


async def _show_as_they_settle(session: "AgentSession") -> list[ServerReport]:
    console = terminal()
    reports: list[ServerReport] = []
    async for report in session.connecting():
        reports.append(report)
        _show(console, report, [spec for spec in session.toolbox.all_specs() if spec.key.server == report.name])
    for spec in session.toolbox.all_specs():
        # Shown again at the end: a tool may have been fine until a later server brought another of its name.
        if spec.status is ToolStatus.COLLIDING:
            _show_tool(console, spec)
    good = sum(report.error is None for report in reports)
    tools = len(session.toolbox.specs())
    told = f"{tools} tool{'s' * (tools != 1)} on {good} of {len(reports)} server{'s' * (len(reports) != 1)}"
    console.print(f"\n{told}", style="bold")
    return reports


def _show(console: "Console", report: ServerReport, specs: Iterable[ToolSpec]) -> None:
    from rich.text import Text  # noqa: PLC0415 -- a server's words are printed as they are, never as markup

    console.print(_head(report, console.width))
    for words, style in _remarks(report):
        for line in beneath(words, console.width, "  "):
            console.print(Text(line, style))
    for spec in sorted((spec for spec in specs if spec.status in _SHOWN), key=lambda spec: spec.name):
        _show_tool(console, spec)


def _head(report: ServerReport, width: int) -> "Text":
    from rich.text import Text  # noqa: PLC0415

    tools, era, took = (
        f"{report.tools} tool{'s' * (report.tools != 1)}",
        report.version or "-",
        f"{report.seconds * 1000:.0f} ms",
    )
    name, state = (report.name, "bold"), (str(report.state), _COLOURS.get(report.state, ""))
    if width < _HEAD_WIDTH:
        gap = "  " if len(report.name) + len(report.state) + len(tools) + 4 <= width else "\n    "
        return Text.assemble(name, gap, state, "  ", tools)
    blanks = " " * (18 - len(report.name)), " " * (9 - len(report.state))
    return Text.assemble(name, blanks[0], "  ", state, blanks[1], f"  {tools:>10}  {era:<10} {took:>11}")


def _remarks(report: ServerReport) -> Iterator[tuple[str, str]]:
    """What is told of a server beneath its line, each with its style."""
    for note in report.notes:
        yield f"note: {note}", "dim"
    if report.repairs:
        told = f"{len(report.repairs)} sloppy parts of its definitions were put right"
        yield f"note: {told}; `bascule inspect {report.name}` shows them", "dim"
    for finding in report.findings:
        yield f"! {legible(str(finding))}", "yellow"
    if report.error is not None:
        yield explain(report.error), ""
    elif report.reason:
        yield legible(report.reason), "yellow"


def _show_tool(console: "Console", spec: ToolSpec) -> None:
    from rich.text import Text  # noqa: PLC0415

    if spec.status is ToolStatus.EXPOSED:
        said = finding_mark(spec.findings) + first_line(spec.description)
        show_beside(console, Text(f"  {spec.name}", "cyan"), said)
    else:
        told = f"{spec.status}: {legible(spec.problem)}"
        show_beside(console, Text(f"  {spec.name}", "yellow"), told, "yellow")


def as_shape(reports: Iterable[ServerReport], specs: Iterable[ToolSpec]) -> ListShape:
    """The listing in its documented JSON shape."""
    return {
        "servers": [
            {
                "name": report.name,
                "transport": report.transport,
                "state": report.state,
                "era": report.version,
                "tools": report.tools,
                "ms": round(report.seconds * 1000, 1),
                "error": as_json(report.error) if report.error is not None else None,
            }
            for report in reports
        ],
        "tools": [
            {
                "name": spec.name,
                "server": spec.key.server,
                "tool": spec.key.tool,
                "permissions": sorted(spec.permissions),
                "digest": spec.digest,
                "description": spec.description,
                "status": spec.status,
                "problem": spec.problem,
                "findings": finding_shapes(spec.findings),
            }
            for spec in specs
            if spec.status in _SHOWN
        ],
    }
