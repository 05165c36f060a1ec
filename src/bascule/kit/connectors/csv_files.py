"""Tables in text files of the workspace: CSV, TSV and what is like them."""

import csv
import io
import operator
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.csv_files__csv_table import MAX_COLUMNS, BrokenRow, CsvTable
from bascule.kit.connectors.file_lines import MAX_SHOWN
from bascule.kit.connectors.files import MAX_WRITTEN
from bascule.kit.connectors.source import FileSource, path_of

Filter = tuple[str, str, str | int | float]
"""A column, one of `= != < <= > >= contains`, and a value. Numbers are compared as numbers where both are some."""

MAX_ROWS = 5000
_SAMPLE = 5

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class CsvRows:
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    more: bool
    broken: tuple[BrokenRow, ...]
    """The first rows, of those that were looked at, that did not have as many cells as there are columns."""


@dataclass(frozen=True, slots=True)
class CsvColumn:
    name: str
    kind: str
    """`integer`, `number`, `text`, or `empty`."""
    filled: int


@dataclass(frozen=True, slots=True)
class CsvDescription:
    columns: tuple[CsvColumn, ...]
    rows: int
    broken: int
    separator: str
    sample: tuple[Row, ...]


class CsvConnector(Connector):
    @staticmethod
    def read(
        file: str | FileSource,
        offset: int = 0,
        limit: int = 100,
        columns: Sequence[str] | None = None,
        filters: Iterable[Filter] = (),
    ) -> CsvRows:
        """Of the rows that pass all filters, `limit` after the first `offset`."""
        if offset < 0 or not 1 <= limit <= MAX_ROWS:
            raise UsageError(f"offset is 0 or more, and limit from 1 to {MAX_ROWS}", evidence=f"{offset}, {limit}"[:40])
        with _opened(file) as table:
            tests = [_test(table.columns, each) for each in filters]
            places = [_place(table.columns, name) for name in (table.columns if columns is None else columns)]
            passed = (row for row in table.rows() if all(test(row) for test in tests))
            chosen = (tuple(row[place] for place in places) for row in islice(passed, offset, None))
            rows, more = _bounded(chosen, limit)
            return CsvRows(tuple(table.columns[place] for place in places), rows, more, tuple(table.broken))

    @staticmethod
    def describe(file: str | FileSource) -> CsvDescription:
        """Of the whole file, which is read once."""
        with _opened(file) as table:
            kinds = [Counter[str]() for _ in table.columns]
            sample: list[Row] = []
            count = 0
            for row in table.rows():
                count += 1
                if len(sample) < _SAMPLE:
                    sample.append(tuple(cell if cell is None else cell[:200] for cell in row))
                for cell, seen in zip(row, kinds, strict=True):
                    seen[_kind(cell)] += 1
            columns = tuple(_column(name, seen) for name, seen in zip(table.columns, kinds, strict=True))
            return CsvDescription(columns, count, table.broken_count, table.separator, tuple(sample))

    @staticmethod
    def write(path: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        """The whole file, in one step; tabs part the cells if it is called `.tsv`. Gives the rows written."""
        if not 1 <= len(columns) <= MAX_COLUMNS:
            raise UsageError(f"a table has 1 to {MAX_COLUMNS} columns")
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter="\t" if path.lower().endswith(".tsv") else ",", lineterminator="\n")
        writer.writerow(columns)
        count = 0
        for count, row in enumerate(rows, start=1):
            if isinstance(row, str) or len(row) != len(columns):
                raise UsageError("every row has one cell for each column", evidence=f"row {count}: {str(row)[:100]}")
            writer.writerow(row)
            if text.tell() > MAX_WRITTEN:
                raise UsageError("this is too much to be written at once", evidence=f"more than {MAX_WRITTEN} bytes")
        Connector.workspace().write_text(path, text.getvalue())
        return count


@contextmanager
def _opened(file: str | FileSource) -> Generator[CsvTable]:
    path = path_of(file)
    with Connector.workspace().open(path, "r", encoding="utf-8-sig", newline="") as opened:
        try:
            table = CsvTable(opened, path)
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is no text in UTF-8", where=path, evidence=error.reason) from None
        yield table


def _bounded(rows: Iterable[Row], limit: int) -> tuple[tuple[Row, ...], bool]:
    kept: list[Row] = []
    room = MAX_SHOWN
    for row in rows:
        room -= sum(len(cell or "") + 1 for cell in row)
        if len(kept) == limit or (room < 0 and kept):
            return tuple(kept), True
        kept.append(row)
    return tuple(kept), False


def _place(columns: Sequence[str], name: str) -> int:
    if name not in columns:
        raise UsageError("there is no such column", evidence=name[:100], fix=f"there are: {', '.join(columns)[:500]}")
    return columns.index(name)


def _test(columns: Sequence[str], each: Filter) -> Callable[[Row], bool]:
    name, sign, value = each
    place = _place(columns, name)
    if sign == "contains":
        return lambda row: str(value) in (row[place] or "")
    compare = _COMPARED.get(sign)
    if compare is None:
        raise UsageError("a filter compares by one of = != < <= > >= contains", evidence=str(sign)[:20])
    return lambda row: _compared(compare, row[place], value)


def _compared(compare: Callable[[Any, Any], bool], cell: str | None, value: str | float) -> bool:
    left, right = _number(cell), _number(str(value))
    if left is not None and right is not None:
        return compare(left, right)
    return compare(cell or "", str(value))


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _kind(cell: str | None) -> str:
    if cell is None or not cell.strip():
        return "empty"
    if _number(cell) is None:
        return "text"
    return "integer" if cell.strip().lstrip("+-").isdigit() else "number"


def _column(name: str, seen: Counter[str]) -> CsvColumn:
    filled = seen.total() - seen["empty"]
    kind = "text" if seen["text"] else "number" if seen["number"] else "integer" if seen["integer"] else "empty"
    return CsvColumn(name, kind, filled)
