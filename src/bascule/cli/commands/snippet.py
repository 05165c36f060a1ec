"""`bascule snippet`: prints a program that calls a read-only tool from an agent framework, or the entry for the config
of an MCP client."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bascule.cli import exit_codes
from bascule.cli.output.errors import json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common
from bascule.cli.session import agent_session, read_config
from bascule.cli.views.snippets import SNIPPETS, filled
from bascule.core.errors import UsageError
from bascule.core.json_types import as_array, as_object
from bascule.core.permission import Permission
from bascule.core.tool import ToolSpec

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import ClientShape, SnippetShape
    from bascule.runtime.session import AgentSession

_READING = {"get", "list", "read", "search", "find", "show", "now", "echo", "query", "describe", "convert", "count"}

_VALUES = {
    "timezone": "UTC",
    "path": ".",
    "url": "https://example.com",
    "message": "hello",
    "text": "hello",
    "word": "",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A call as an example makes it."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


def shown(specs: Iterable[ToolSpec]) -> Shown | None:
    """Nothing, where no tool says that it only reads: an example is run before it is read."""
    fitting = sorted((spec for spec in specs if only_reads(spec)), key=_effort)
    return Shown(fitting[0].name, example(fitting[0].input_schema)) if fitting else None


def only_reads(spec: ToolSpec) -> bool:
    """By the operator's word or the server's, or else by its name. Where the server says otherwise, it counts."""
    hint = spec.annotations.get("readOnlyHint")
    if spec.permissions == frozenset({Permission.READ}) or hint is True:
        return True
    words = spec.key.tool.replace("-", "_").split("_")
    return hint is None and words[0].lower() in _READING


def example(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that fit, as far as that can be seen: those that have to be there."""
    properties = as_object(schema.get("properties"))
    return {str(name): _value(str(name), as_object(properties.get(name))) for name in as_array(schema.get("required"))}


def _effort(spec: ToolSpec) -> int:
    return len(as_array(spec.input_schema.get("required")))


def _value(name: str, field: Mapping[str, Any]) -> Any:
    if "default" in field or "const" in field:
        return field.get("default", field.get("const"))
    for key in ("enum", "examples"):
        if as_array(field.get(key)):
            return field[key][0]
    by_type: dict[str, Any] = {
        "integer": field.get("minimum", 1),
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return by_type.get(str(field.get("type")), _VALUES.get(name.lower(), "hello"))


PATIENCE = 15.0
"""Seconds that servers are given to list their tools. A first `npx` takes most of it; without them it works as well."""

UNKNOWN = Shown("SERVER_TOOL")

CLIENTS = {
    "claude-code": ".mcp.json of the project",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of the project",
    "vscode": ".vscode/mcp.json of the project",
    "gemini": "~/.gemini/settings.json, or .gemini/settings.json of the project",
}
"""MCP clients that start a server by a command, and where each is told of it."""

_EXAMPLES = """\
  bascule snippet pydantic-ai > agent.py  a program that calls a tool of yours; langchain, openai, claude, …
  bascule snippet plain --tool notes_search  with this tool; without a framework
  bascule snippet langchain --offline  asks no server
  bascule snippet cursor  the entry by which an MCP client has all of your servers"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES))
    told = f"a framework: {', '.join(SNIPPETS)}; or an MCP client: {', '.join(CLIENTS)}"
    command.add_argument("framework", metavar="FRAMEWORK", choices=(*SNIPPETS, *CLIENTS), help=told)
    command.add_argument("--tool", metavar="TOOL", help="the tool to call; default: one that only reads")
    command.add_argument("--offline", action="store_true", help="do not ask the servers for their tools")


async def run(options: argparse.Namespace) -> int:
    from bascule.config.locate import locate  # noqa: PLC0415 -- slow, and not for the options

    path = locate(options.config, os.environ)
    if options.framework in CLIENTS:
        entry = client_entry(options.framework, path)
        _say(f"put this into {CLIENTS[options.framework]}; what stands there beside it stays")
        print(json_line(entry) if options.json else legible(json.dumps(entry, indent=2)))
        return exit_codes.OK
    snippet = SNIPPETS[options.framework]
    call = await _call(options)
    if call is None:
        _say("no tool is known that only reads; `bascule list` shows all, and --tool names one")
    call = call or UNKNOWN
    prompt = f"Call the tool {call.tool}, and say what it gave."
    text = filled(snippet.text, config=_named(path), tool=call.tool, arguments=call.arguments, prompt=prompt)
    missing = bool(snippet.extra) and find_spec(snippet.module) is None
    if missing:
        _say(f"to run it: pip install 'bascule[{snippet.extra}]'")
    if options.json:
        shape: SnippetShape = {
            "framework": options.framework,
            "tool": call.tool,
            "extra": snippet.extra or None,
            "installed": not missing,
            "program": text,
        }
        print(json_line(shape))
    else:
        print(text, end="")
    return exit_codes.OK


async def _call(options: argparse.Namespace) -> Shown | None:
    """The call that the program makes: of the tool that is named, or of one that the servers have."""
    if options.offline:
        return Shown(options.tool) if options.tool else None
    import asyncio  # noqa: PLC0415 -- as above

    async with agent_session(options, config=read_config(options)) as session:
        if options.tool:
            return await _of(session, options.tool)
        try:
            async with asyncio.timeout(PATIENCE):
                return shown(await session.tools())
        except TimeoutError:
            # Those that have answered by then will do.
            return shown(session.toolbox.specs())


async def _of(session: "AgentSession", name: str) -> Shown:
    found = await session.find(name)
    if found is None:
        raise UsageError(f"there is no tool {name!r}", fix="`bascule list` shows all; --offline takes any name")
    return Shown(found.name, example(found.input_schema))


def client_entry(client: str, path: Path) -> "ClientShape":
    """What a client's config says to have all servers of ours by one."""
    program = shutil.which("bascule") or str(Path(sys.argv[0]).absolute())
    # A client starts it in a folder of its own choice, so both paths are whole.
    entry: dict[str, Any] = {"command": program, "args": ["serve", "--stdio", "--config", str(path.absolute())]}
    if client == "vscode":
        return {"servers": {"bascule": {"type": "stdio", **entry}}}
    return {"mcpServers": {"bascule": entry}}


def _named(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _say(words: str) -> None:
    """Beside the program, which goes into a file."""
    print(legible(words), file=sys.stderr)
