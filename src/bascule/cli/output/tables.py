"""Tables for a terminal of any width: columns where they fit, else a block for each row. No word is cut: a truncated
name or code can be neither found nor copied."""

import sys
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    Row = Sequence[Text]

WIDE = 10_000
"""Columns where nobody looks at a terminal: a program takes lines as long as they are."""

NARROWEST = 24
"""Columns that words which are wrapped have at least."""

NARROW = 80
"""A terminal with fewer columns has lines wrapped for it that others get as they are."""

_GAP = "  "


def terminal() -> "Console":
    """Where tables are drawn. Its lines are as long as they are made: it neither wraps nor cuts them."""
    from rich.console import Console  # noqa: PLC0415 -- only where something is drawn

    return Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDE)


def show_rows(headings: Sequence[str], rows: "Sequence[Row]", numbers: str = "") -> None:
    """Draw a table. Of the column `numbers`, the ends stand below each other."""
    console = terminal()
    for line in laid_out(headings, rows, console.width, numbers):
        console.print(line)


def laid_out(
    headings: Sequence[str], rows: Sequence[Sequence["Text"]], width: int, numbers: str = ""
) -> Iterator["Text"]:
    """The lines of a table. The last column may go on below itself; if there is no room for it, each row is a block."""
    columns = [*zip(*rows, strict=True)]
    widths = [
        max(len(heading), *(cell.cell_len for cell in column))
        for heading, column in zip(headings, columns, strict=True)
    ]
    before = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    if before + min(widths[-1], NARROWEST) > width:
        for number, row in enumerate(rows):
            yield from _block(headings, row, width, first=number == 0)
        return
    from rich.text import Text  # noqa: PLC0415 -- only where something is drawn

    right = headings.index(numbers) if numbers else -1
    yield _beside([Text(heading, "bold") for heading in headings], widths, right)
    for row in rows:
        first, *rest = wrapped(row[-1].plain, max(width - before, NARROWEST)) or [""]
        yield _beside([*row[:-1], Text(first)], widths, right)
        yield from (Text(" " * before + line) for line in rest)


def _beside(cells: Sequence["Text"], widths: Sequence[int], right: int) -> "Text":
    from rich.text import Text  # noqa: PLC0415 -- only where something is drawn

    *padded, last = cells
    line = Text()
    for number, (cell, width) in enumerate(zip(padded, widths, strict=False)):
        blanks = " " * (width - cell.cell_len)
        line.append(blanks if number == right else "").append_text(cell).append("" if number == right else blanks)
        line.append(_GAP)
    line.append_text(last).rstrip()
    return line


def _block(headings: Sequence[str], row: Sequence["Text"], width: int, *, first: bool) -> Iterator["Text"]:
    """One row, a line for each cell that is not empty."""
    from rich.text import Text  # noqa: PLC0415 -- only where something is drawn

    if not first:
        yield Text()
    yield row[0]
    indent = max(map(len, headings)) + len(_GAP) + 2
    for heading, cell in zip(headings[1:], row[1:], strict=True):
        lines = wrapped(cell.plain, max(width - indent, NARROWEST))
        for number, line in enumerate(lines):
            label = f"{_GAP}{heading + ':':<{indent - 2}}" if number == 0 else " " * indent
            yield Text.assemble(label, (line, cell.style))


def wrapped(text: str, room: int) -> list[str]:
    """Lines of so many columns; a word that is longer stands alone, whole."""
    return wrap(text, room, break_long_words=False, break_on_hyphens=False)


def beneath(text: str, width: int, indent: str, deeper: str = "    ") -> list[str]:
    """Lines of text with this before each. What is too long for one goes on below it, and deeper."""
    return [line for part in text.split("\n") for line in _beneath(part, width, indent, deeper)]


def _beneath(part: str, width: int, indent: str, deeper: str) -> list[str]:
    lead = indent + part[: len(part) - len(part.lstrip())]
    room = max(width, len(lead) + NARROWEST)
    first, then = lead, lead + deeper
    said = part.strip()
    return wrap(
        said, room, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    ) or [""]


def fitting(text: str) -> str:
    """Lines as they are; on a terminal that is narrow, wrapped between words."""
    columns = get_terminal_size((WIDE, 24)).columns
    return "\n".join(beneath(text, columns, "")) if sys.stdout.isatty() and columns < NARROW else text


_NAMES = 42
"""Columns for names beside which something is said."""


def show_beside(console: "Console", name: "Text", said: str, style: str = "") -> None:
    """A name and what is said of it: beside it where there is room, and cut where it is too long; else below it."""
    from rich.text import Text  # noqa: PLC0415 -- only where something is drawn

    room = console.width - max(_NAMES, name.cell_len) - 1
    if room < min(len(said), NARROWEST + 10):
        console.print(name)
        for line in beneath(said, console.width, "      ", deeper=""):
            console.print(Text(line, style))
        return
    shown = said if len(said) <= room else f"{said[: room - 1]}…"
    console.print(Text.assemble(name, " " * (_NAMES - name.cell_len), " ", (shown, style)))
