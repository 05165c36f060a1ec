import io

import pytest

from bascule.core.errors import UsageError
from bascule.kit.connectors.csv_files import MAX_COLUMNS, MAX_LINE, CsvTable, separator_of


def table(text: str) -> CsvTable:
    return CsvTable(io.StringIO(text, newline=""), "t.csv")


@pytest.mark.parametrize(
    ("text", "separator"),
    [("a,b\n1,2\n", ","), ("a;b;c\n1,5;2;3\n", ";"), ("a\tb\n1\t2\n", "\t"), ("a|b\n1|2\n", "|"), ("a\n1\n", ","), ("", ","), ('"a,b";c\n"1,2,3";4\n', ";")],
)  # fmt: skip
def test_what_parts_the_cells_is_found(text: str, separator: str):
    assert separator_of(text) == separator


def test_columns_have_names_of_their_own():
    assert table("a,,a, b \n").columns == ("a", "column_2", "a_3", "b")


def test_cells_may_hold_everything_in_quotes():
    assert list(table('a,b\r\n"x,\r\ny","say ""hi"""\r\n').rows()) == [("x,\r\ny", 'say "hi"')]


def test_rows_that_are_too_short_or_too_long_are_kept_and_noted():
    broken = table("a,b\n1\n\n1,2,3\n4,5\n")
    assert list(broken.rows()) == [("1", None), ("1", "2"), ("4", "5")]
    assert [(row.line, row.cells) for row in broken.broken] == [(2, ("1",)), (4, ("1", "2", "3"))]
    many = table("a,b\n" + "1\n" * 100)
    assert len(list(many.rows())) == 100
    assert (many.broken_count, len(many.broken)) == (100, 20)


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n"x,1\n',
        'a,b\n"x"y,1\n',
        "a,b\n" + "x" * (MAX_LINE + 1),
        "a,b\nx\0,1\n",
        "a,b\n" + '"' + "x" * 200_000 + '",1\n',
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str):
    broken = table(text)
    with pytest.raises(UsageError, match="cannot be read as a table") as caught:
        list(broken.rows())
    assert caught.value.where.startswith("t.csv:")


def test_a_table_has_columns_and_not_too_many():
    for text in ("", "\n\n", ",".join(["a"] * (MAX_COLUMNS + 1))):
        with pytest.raises(UsageError, match="no columns"):
            table(text)
