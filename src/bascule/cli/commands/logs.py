"""`bascule logs`: stderr output of a server, and the history of its links."""

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from bascule.catalog.naming import nearest_names
from bascule.cli import exit_codes
from bascule.cli.json_output.records import LogLineShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.tables import fitting
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_filters, count
from bascule.core.errors import ConfigError, UsageError
from bascule.records.server_logs.file import LogLine, log_folder, log_path
from bascule.records.server_logs.tail import LogTail

LOOK_EVERY = 0.2
"""Seconds between looks at a log that is followed."""

_EXAMPLES = """\
  bascule logs github  the last 100 lines
  bascule logs github -n 20 --follow  the last 20, then whatever comes
  bascule logs github --user alice  only of the processes that run on her behalf"""


def add_options(command: Parser) -> None:
    add_filters(command.document(_EXAMPLES))
    command.add_argument("name", metavar="SERVER", help="the server's name")
    lines = 100
    told = f"how many; default: {lines}"
    command.add_argument("-n", "--lines", type=count, default=lines, metavar="LINES", help=told)
    command.add_argument("-f", "--follow", action="store_true", help="then show what is added, until Ctrl-C")


async def run(options: argparse.Namespace) -> int:
    import asyncio  # noqa: PLC0415 -- slow, and not for the options

    from bascule.config.locate import locate  # noqa: PLC0415
    from bascule.config.names import is_name  # noqa: PLC0415
    from bascule.config.state_dir import state_folder  # noqa: PLC0415

    config = locate(options.config, os.environ)
    path = log_path(log_folder(state_folder(os.environ), config), options.name)
    if not is_name(options.name) or not path.exists():
        check_name(options.name, config, path.parent)
    tail = LogTail(path)
    lines = tail.last(options.lines)
    show(wanted(lines, options), options)
    if not lines and not options.json and not options.follow:
        print(f"nothing was logged of {options.name} yet")
    while options.follow:
        await asyncio.sleep(LOOK_EVERY)
        show(wanted(tail.new(), options), options)
    return exit_codes.OK


def check_name(name: str, config: Path, folder: Path) -> None:
    """Raises where no server has this name. One that was logged may since have been removed, or its config broken."""
    from bascule.config.loading.load import load_file  # noqa: PLC0415 -- as above

    logged = {path.stem for path in folder.glob("*.log")}
    try:
        known = {*load_file(config, os.environ).servers, *logged}
    except ConfigError:
        if not logged:
            raise
        known = logged
    if name in known:
        return
    nearest = nearest_names(name, sorted(known))
    hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
    raise UsageError(f"no server is called {name[:80]!r}{hint}", fix="`bascule list` shows those configured")


def wanted(lines: Iterable[LogLine], options: argparse.Namespace) -> list[LogLine]:
    """Those of the user and the session that were named. A word on the log itself is everyone's."""
    return [line for line in lines if line.kind == "note" or _is_of(line, options.user, options.session)]


def _is_of(line: LogLine, user: str | None, session: str | None) -> bool:
    return user in {None, line.user} and session in {None, line.session}


def show(lines: Iterable[LogLine], options: argparse.Namespace) -> None:
    for line in lines:
        print(json_line(as_shape(line, options.name)) if options.json else fitting(as_text(line)))
    sys.stdout.flush()


def as_shape(line: LogLine, server: str) -> LogLineShape:
    """A line in its documented JSON shape."""
    return {
        "at": line.at,
        "server": server,
        "kind": line.kind,
        "user": line.user,
        "session": line.session,
        "pid": line.pid,
        "state": line.state,
        "text": line.text,
    }


def as_text(line: LogLine) -> str:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(line.at))
    who = f"{line.user}/{line.session}" if line.user else ""
    if line.kind == "link":
        told = f"link {line.state}" + (f": {line.text}" if line.text not in {"", line.state} else "")
    else:
        told = f"[{line.pid}] {line.text}" if line.pid is not None else line.text
    # On one line, whatever it holds: another could pass for one of ours.
    return legible("  ".join(filter(None, (at, who, told)))).replace("\n", "\\n")
