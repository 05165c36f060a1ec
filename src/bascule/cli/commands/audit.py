"""`bascule audit`: shows, exports and verifies the tamper-evident audit log."""

import argparse
import asyncio
import csv
import os
import re
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Any, TextIO

from bascule.cli import exit_codes
from bascule.cli.json_output.records import ExportShape, RecordsShape
from bascule.cli.output.errors import json_line
from bascule.cli.output.tables import fitting
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_config, add_deed_json, count
from bascule.cli.session import store_of
from bascule.cli.views.audit import check_shape, check_text, entry_shape, show_table
from bascule.core.errors import UsageError
from bascule.records.audit.read import AuditReading, Entry
from bascule.records.audit.verify import check_state
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.folder import AuditFolder

COLUMNS = (
    *("at", "writer", "seq", "kind", "user", "session", "server", "tool", "lane"),
    *("method", "outcome", "code", "rule", "seconds", "call"),
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a table's program takes for the beginning of a formula."""


def write_entries(entries: Iterable[Entry], path: str, *, as_csv: bool) -> int:
    """Write records to a file that only its owner can read, or to stdout. How many."""
    with ExitStack() as stack:
        file = sys.stdout if path == "-" else stack.enter_context(_opened(path))
        return _write_csv(entries, file) if as_csv else _write_lines(entries, file)


def _opened(path: str) -> TextIO:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", fix="name another file, or -") from error
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


def _write_lines(entries: Iterable[Entry], file: TextIO) -> int:
    count = 0
    for entry in entries:
        file.write(json_line(entry_shape(entry)) + "\n")
        count += 1
    return count


def _write_csv(entries: Iterable[Entry], file: TextIO) -> int:
    count = 0
    writer = csv.writer(file)
    writer.writerow((*COLUMNS, "more"))
    for entry in entries:
        shape = entry_shape(entry)
        more = {name: value for name, value in shape.items() if name not in COLUMNS}
        writer.writerow((*(_cell(shape, name) for name in COLUMNS), json_line(more) if more else ""))
        count += 1
    return count


def _cell(shape: Mapping[str, Any], name: str) -> str:
    value = shape.get(name, "")
    if not isinstance(value, str):
        return json_line(value)
    return f"'{value}" if value.startswith(_FORMULA) else value


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGO = re.compile(r"(\d{1,9})([smhd])")


def since(text: str | None, now: float) -> float:
    """Seconds since the epoch. What is not given is the beginning."""
    if text is None:
        return 0.0
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{text[:40]!r} is no time", fix="write 30s, 10m, 2h or 7d, or a time such as 2026-11-01T08:30"
        ) from error


_ANCHOR = re.compile(r"([0-9a-f]{16}-\d{4}):(\d{1,18}):([0-9a-f]{64})")

_EXAMPLES = """\
  bascule audit show --last 20  what was done last, by every runtime on this machine
  bascule audit show --user alice --since 2h
  bascule audit verify  whether the log is what was written; exits with 1 if it is not
  bascule audit verify --anchor WRITER:SEQUENCE:MAC  against an anchor that was kept elsewhere, too
  bascule audit export --format csv --since 2026-11-01 audit.csv"""

_SHOW_EXAMPLES = """\
  bascule audit show --last 20
  bascule audit show --user alice --since 2h
  bascule audit show --server github --json | jq .records"""

_EXPORT_EXAMPLES = """\
  bascule audit export audit.jsonl
  bascule audit export --format csv --since 2026-11-01 audit.csv"""

_VERIFY_EXAMPLES = """\
  bascule audit verify  exits with 1 if the log is not what was written
  bascule audit verify --anchor WRITER:SEQUENCE:MAC  against an anchor that was kept elsewhere, too"""


def add_options(command: Parser) -> None:
    add_config(command.document(_EXAMPLES))
    command.has_words("deed", required=True)

    def add(name: str, summary: str, examples: str, exits: Mapping[int, str] | None = None) -> Parser:
        deed = command.word(name, summary).document(examples, exits)
        told = "the config file, which may say where anchors are kept"
        deed.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help=told)
        return add_deed_json(deed)

    show = add("show", "show what was done, of all runtimes, in order of time", _SHOW_EXAMPLES)
    export = add("export", "copy the log to a file, as lines of JSON or as a table", _EXPORT_EXAMPLES)
    summary = "verify that the log is what was written, and nothing of it is missing"
    verify = add("verify", summary, _VERIFY_EXAMPLES, {1: "the log is not what was written"})
    for deed in (show, export):
        deed.add_argument("--user", metavar="ID", help="only what is of this user")
        deed.add_argument("--session", metavar="ID", help="only what is of this agent session")
        deed.add_argument("--server", metavar="SERVER", help="only what is of this server")
        deed.add_argument("--since", metavar="TIME", help="30s, 10m, 2h, 7d, 2026-11-01 or 2026-11-01T08:30, here")
    last = 100
    show.add_argument("--last", type=count, default=last, metavar="N", help=f"how many; default: {last}")
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl", help="default: jsonl")
    export.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, which is stdout")
    verify.add_argument(
        "--anchor", metavar="WRITER:SEQUENCE:MAC", action="append", default=[], help="one that was kept elsewhere"
    )


async def run(options: argparse.Namespace) -> int:
    return await _DEEDS[options.deed](options)


def _reading() -> AuditReading:
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- slow, and not for the options

    return AuditReading(AuditFolder(state_folder(os.environ)))


async def _show(options: argparse.Namespace) -> int:
    reading = _reading()
    entries = await asyncio.to_thread(lambda: [*deque(wanted(reading.entries(), options), options.last)])
    if options.json:
        shape: RecordsShape = {
            "records": [entry_shape(entry) for entry in entries],
            "unreadable": reading.unreadable,
        }
        print(json_line(shape))
    elif entries:
        show_table(entries)
    else:
        print("nothing is logged" + (" of these" if _narrowed(options) else " yet"))
    _tell_unreadable(reading)
    return exit_codes.OK


async def _export(options: argparse.Namespace) -> int:
    if options.json and options.format == "csv" and options.file == "-":
        raise UsageError("a table on stdout is no JSON", fix="name a file, or leave out --format csv or --json")
    reading = _reading()
    count = await asyncio.to_thread(
        write_entries, wanted(reading.entries(), options), options.file, as_csv=options.format == "csv"
    )
    if options.file != "-":
        if options.json:
            shape: ExportShape = {"file": options.file, "records": count, "unreadable": reading.unreadable}
            print(json_line(shape))
        print(f"{count} records are in {options.file}", file=sys.stderr)
    _tell_unreadable(reading)
    return exit_codes.OK


async def _verify(options: argparse.Namespace) -> int:
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- as above

    given = [_anchor(text) for text in options.anchor]
    async with store_of(options) as (store, _):
        check = await check_state(state_folder(os.environ), store, given)
    print(json_line(check_shape(check)) if options.json else fitting(check_text(check)))
    return exit_codes.OK if check.ok else exit_codes.TOOL_FAILED


def wanted(entries: Iterable[Entry], options: argparse.Namespace) -> Iterator[Entry]:
    """Those of the user, the agent session and the server that were named, from the time that was named on."""
    start = since(options.since, time.time())
    asked = {name: getattr(options, name) for name in ("user", "session", "server") if getattr(options, name)}
    for entry in entries:
        if entry.at >= start and all(entry.fields.get(name) == value for name, value in asked.items()):
            yield entry


def _narrowed(options: argparse.Namespace) -> bool:
    return any((options.user, options.session, options.server, options.since))


def _tell_unreadable(reading: AuditReading) -> None:
    if reading.unreadable:
        told = f"note: {reading.unreadable} lines are no records; `bascule audit verify` says more"
        print(told, file=sys.stderr)


def _anchor(text: str) -> Anchor:
    found = _ANCHOR.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text[:80]!r} is no anchor", fix="write WRITER:SEQUENCE:MAC, as `bascule audit verify` prints it"
        )
    return Anchor(found[1], int(found[2]), found[3], 0.0)


_DEEDS = {"show": _show, "verify": _verify, "export": _export}
