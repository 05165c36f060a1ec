"""The audit log as a file for other programs: lines of JSON, or a table."""

import csv
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, TextIO

from bascule.cli.output.errors import json_line
from bascule.cli.views.audit import entry_shape
from bascule.core.errors import UsageError
from bascule.records.audit.read import Entry

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
