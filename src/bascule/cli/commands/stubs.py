"""`bascule stubs`: generates a typed Python module of the tools, for editors and type checkers."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.json_output.listings import StubsShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common
from bascule.cli.session import agent_session, read_config
from bascule.core.errors import UsageError
from bascule.core.tool import ToolSpec
from bascule.files.regular_file import open_regular

if TYPE_CHECKING:
    from bascule.catalog.typed.stub_module import Module
    from bascule.runtime.session import AgentSession

_EXAMPLES = """\
  bascule stubs --out tools.py  every tool as a typed function: `await tools.github_create_issue(session, …)`
  bascule stubs --out tools.py --check  exits with 1 if the tools have changed since
  bascule stubs --server github  those of one server, on stdout"""


def add_options(command: Parser) -> None:
    exits = {1: "with --check: it is out of date", 3: "a server cannot be reached, so nothing is written"}
    add_common(command.document(_EXAMPLES, exits))
    command.add_argument("--out", metavar="FILE", help="the module to write; default: stdout")
    command.add_argument("--check", action="store_true", help="write nothing, and exit with 1 if it is out of date")
    told = "only the tools of this server"
    command.add_argument("--server", metavar="SERVER", action="append", default=[], help=told)


async def run(options: argparse.Namespace) -> int:
    from bascule.catalog.typed.stub_module import module_of  # noqa: PLC0415 -- slow, and not for the options
    from bascule.config.find_server import client_server_named  # noqa: PLC0415

    if options.check and options.out is None:
        raise UsageError("there is nothing to check", fix="name the module with --out FILE")
    config = read_config(options)
    servers = [client_server_named(config, name).name for name in options.server] or [*config.servers]
    async with agent_session(options, config=config) as session:
        module = module_of(await tools_of(session, servers))
    if options.out is None:
        text = json_line({**as_shape(module, None), "module": module.text}) + "\n" if options.json else module.text
        print(text, end="")
        return exit_codes.OK
    return written(module, Path(options.out), check=options.check, as_json=options.json)


async def tools_of(session: "AgentSession", servers: Sequence[str]) -> list[ToolSpec]:
    """The tools of some servers. If one of these cannot be reached nothing is written: its functions would be gone."""
    for name in servers:
        report = await session.settle(name)
        if report.error is not None:
            print(legible(f"nothing is written: the tools of {name} are not known"), file=sys.stderr)
            raise report.error
    return [spec for spec in await session.tools() if spec.key.server in servers]


def written(module: "Module", path: Path, *, check: bool, as_json: bool) -> int:
    """Write the module, or only tell whether it would be another."""
    from bascule.catalog.typed.stub_module import TITLE  # noqa: PLC0415 -- as above

    old = _read(path)
    changed = old != module.text
    if changed and not check:
        if old is not None and not old.startswith(TITLE):
            raise UsageError(f"{path} is no module of `bascule stubs`", fix="name another file, or move it away")
        _write(path, module.text)
    if as_json:
        print(json_line({**as_shape(module, path), "changed": changed}))
    else:
        print(legible(_told(module, path, changed=changed, check=check)))
    return exit_codes.TOOL_FAILED if changed and check else exit_codes.OK


def as_shape(module: "Module", path: Path | None) -> StubsShape:
    """What was written, in its documented JSON shape."""
    return {
        "file": str(path) if path is not None else None,
        "tools": [
            {
                "name": tool.spec.name,
                "function": tool.function,
                "digest": tool.spec.digest,
                "exact": not tool.inexact,
                "inexact": list(tool.inexact),
            }
            for tool in module.tools
        ],
    }


def _told(module: "Module", path: Path, *, changed: bool, check: bool) -> str:
    count = len(module.tools)
    tools = f"{count} tool{'' if count == 1 else 's'}"
    if changed and check:
        return f"{path} is out of date: write it anew with `bascule stubs --out {path}`"
    return f"{path} {'holds' if changed else 'held already'} {tools}"


def _read(path: Path) -> str | None:
    try:
        with io.TextIOWrapper(open_regular(path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, "read", error) from error


def _write(path: Path, text: str) -> None:
    """In one step: an editor never sees half of it."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        new.write_text(text, encoding="utf-8", newline="\n")
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise _refused(path, "written", error) from error


def _refused(path: Path, deed: str, error: OSError | UnicodeDecodeError) -> UsageError:
    told = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
    return UsageError(f"{path} cannot be {deed}: {told or type(error).__name__}", fix="name another file")
