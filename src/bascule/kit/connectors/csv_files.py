"""CSV connector: tables in text files of the workspace (CSV, TSV), with detection of separator, columns and broken
rows."""

import csv
import io
import operator
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.file_lines import MAX_SHOWN
from bascule.kit.connectors.files import MAX_WRITTEN
from bascule.kit.connectors.source import FileSource, path_of

MAX_LINE = 1024 * 1024
MAX_COLUMNS = 1000
_SEPARATORS = ",;\t|"
_LOOKED_AT = 64 * 1024
_MOST_BROKEN = 20


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row with more or fewer cells than there are columns, as it was found."""

    line: int
    cells: tuple[str, ...]


class CsvTable:
    """An open table. Rows that are too short are filled up with None, those that are too long lose what is too much;
    both are noted in `broken`, with all their cells."""

    def __init__(self, file: IO[str], name: str) -> None:
        self._name = name
        self.separator = separator_of(file.read(_LOOKED_AT))
        file.seek(0)
        # Strict, or a quote that is never closed would swallow the rest of the file as one cell.
        self._reader = csv.reader(self._lines(file), delimiter=self.separator, strict=True)
        self.columns = _named(next(self._parsed(), list[str]()))
        self.broken: list[BrokenRow] = []
        self.broken_count = 0
        if not 1 <= len(self.columns) <= MAX_COLUMNS:
            raise UsageError(f"{name} has no columns, or more than {MAX_COLUMNS}", where=name)

    def rows(self) -> Iterator[tuple[str | None, ...]]:
        width = len(self.columns)
        for cells in self._parsed():
            if len(cells) != width:
                self._note(cells)
            yield (*cells[:width], *(None for _ in range(width - len(cells))))

    def _parsed(self) -> Iterator[list[str]]:
        try:
            for cells in self._reader:
                if cells:
                    yield cells
        except csv.Error as error:
            reason = str(error)
        except UnicodeDecodeError as error:
            reason = f"no UTF-8: {error.reason}"
        else:
            return
        raise UsageError(
            f"{self._name} cannot be read as a table",
            where=f"{self._name}:{self._reader.line_num}",
            evidence=reason,
            fix="look at that line; a quote inside of a cell is written twice",
        )

    def _lines(self, file: IO[str]) -> Iterator[str]:
        while line := file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE or "\0" in line:
                raise csv.Error("a line is too long, or holds what is no text")
            yield line

    def _note(self, cells: Sequence[str]) -> None:
        self.broken_count += 1
        if len(self.broken) < _MOST_BROKEN:
            self.broken.append(BrokenRow(self._reader.line_num, tuple(cells)))


def separator_of(text: str) -> str:
    """The character that parts the first lines into equally many cells, and into most of them."""
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    bare = ["".join(line.split('"')[::2]) for line in lines]

    def worth(separator: str) -> tuple[bool, int]:
        counts = [line.count(separator) for line in bare]
        first = counts[0] if counts else 0
        agreeing = sum(count == first for count in counts)
        return first > 0, first * agreeing

    return max(_SEPARATORS, key=worth)


def _named(header: list[str]) -> tuple[str, ...]:
    """Every column by a name of its own."""
    names: list[str] = []
    for number, raw in enumerate(header, start=1):
        name = raw.strip().removeprefix("\ufeff") or f"column_{number}"
        while name in names:
            name = f"{name}_{number}"
        names.append(name)
    return tuple(names)


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
