"""`bascule list`: every server as soon as it is known how it stands, with its tools."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.commands.list__offers import add_offers, show_offers, wanted
from bascule.cli.commands.list__token_costs import add_costs, cost_lines
from bascule.cli.json_output.listings import ListShape
from bascule.cli.output.errors import as_json, explain, finding_mark, finding_shapes, first_line, json_line, legible
from bascule.cli.output.level_messages import how_to_go_on
from bascule.cli.output.tables import beneath, fitting, show_beside, terminal
from bascule.cli.session import agent_session, read_config
from bascule.config.find_server import client_server_named
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import Refused
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.session import AgentSession
from bascule.upstream.state import LinkState

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

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


def only(config: RuntimeConfig, names: Sequence[str]) -> RuntimeConfig:
    """The config as if it named these servers alone. All, if none is named."""
    if not names:
        return config
    return replace(config, servers={name: client_server_named(config, name) for name in names})


async def _show_as_they_settle(session: AgentSession) -> list[ServerReport]:
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
