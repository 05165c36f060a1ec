"""Rows at any width."""

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from bascule.cli.output.tables import NARROW, beneath, fitting, laid_out, show_beside, show_rows

HEADINGS = ("name", "count", "what")
ROWS = [("alice@example.org", "7", "reads the whole file"), ("bob", "12", "")]


def drawn(width: int) -> list[str]:
    rows = [[Text(cell) for cell in row] for row in ROWS]
    return [line.plain for line in laid_out(HEADINGS, rows, width, "count")]


def test_what_fits_is_in_columns_and_numbers_end_below_each_other():
    assert drawn(60) == [
        "name               count  what",
        "alice@example.org      7  reads the whole file",
        "bob                   12",
    ]


def test_a_column_that_is_too_wide_goes_on_below_itself():
    rows = [[Text("a"), Text("one two three four five six seven")]]
    assert [line.plain for line in laid_out(("x", "what"), rows, 28)] == [
        "x  what",
        "a  one two three four five",
        "   six seven",
    ]


def test_what_does_not_fit_is_a_block_for_each_row_without_what_is_empty():
    assert drawn(40) == [
        *("alice@example.org", "  count: 7", "  what:  reads the whole file"),
        *("", "bob", "  count: 12"),
    ]


def test_no_word_is_cut_however_narrow_it_is():
    text = " ".join(drawn(1))
    assert all(word in text.split() for row in ROWS for cell in row for word in cell.split())
    assert beneath("one\n  " + "x" * 60, 10, "  ") == ["  one", "    " + "x" * 60]


def test_what_is_said_of_a_name_stands_beside_it_is_cut_with_a_sign_or_stands_below():
    def shown(width: int) -> list[str]:
        out = StringIO()
        show_beside(Console(file=out, width=width, soft_wrap=True), Text("  notes_add"), "word " * 12)
        return out.getvalue().rstrip("\n").split("\n")

    assert shown(200)[0].startswith("  notes_add" + " " * 32 + "word word")
    assert shown(80)[0].endswith("…")
    assert len(shown(80)[0]) == 80
    assert shown(40)[:2] == ["  notes_add", "      word word word word word word word"]


def test_where_nobody_looks_lines_are_as_long_as_they_are(capsys: pytest.CaptureFixture[str]):
    show_rows(HEADINGS, [[Text("a"), Text("1"), Text("x " * 500)]])
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert fitting("x " * NARROW) == "x " * NARROW
