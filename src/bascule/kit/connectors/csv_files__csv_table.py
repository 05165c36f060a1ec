"""A table in a text file, row by row: what parts its cells, what its columns are called, which rows are odd."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from bascule.core.errors import UsageError

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
