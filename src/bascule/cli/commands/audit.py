"""`bascule audit`: what was done, and whether the log of it is what was written."""

import argparse
import asyncio
import os
import re
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator

from bascule.cli import exit_codes
from bascule.cli.commands.audit__audit_export import write_entries
from bascule.cli.commands.audit__audit_since import since
from bascule.cli.json_output.records import ExportShape, RecordsShape
from bascule.cli.output.errors import json_line
from bascule.cli.output.tables import fitting
from bascule.cli.session import store_of
from bascule.cli.views.audit import check_shape, check_text, entry_shape, show_table
from bascule.config.state_dir import state_folder
from bascule.core.errors import UsageError
from bascule.records.audit.read import AuditReading, Entry
from bascule.records.audit.verify import check_state
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.folder import AuditFolder

_ANCHOR = re.compile(r"([0-9a-f]{16}-\d{4}):(\d{1,18}):([0-9a-f]{64})")


async def run(options: argparse.Namespace) -> int:
    return await _DEEDS[options.deed](options)


async def _show(options: argparse.Namespace) -> int:
    reading = AuditReading(AuditFolder(state_folder(os.environ)))
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
    reading = AuditReading(AuditFolder(state_folder(os.environ)))
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
