""" """

import io
from typing import Any

import pytest

from bascule.core.errors import PathRefused, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import CsvConnector, FileSource
from bascule.kit.connectors.csv_files import MAX_COLUMNS, MAX_LINE, CsvColumn, CsvTable, separator_of
from bascule.workspace import Workspace
from support.private_data import Book

TEXT = "name,age,city\nAnn,31,Ulm\nBob,9,Bonn\nCid,,Ulm\nDora,100,\n"


@pytest.fixture
def people(workspace: Workspace) -> str:
    workspace.write_text("p.csv", "\ufeff" + TEXT)
    return "p.csv"


def test_rows_are_read_in_parts_and_by_columns(people: str):
    found = CsvConnector.read(people, offset=1, limit=2, columns=["city", "name"])
    assert (found.columns, found.rows, found.more) == (("city", "name"), (("Bonn", "Bob"), ("Ulm", "Cid")), True)
    assert not CsvConnector.read(people, offset=2).more
    assert CsvConnector.read(people, offset=99).rows == ()


@pytest.mark.parametrize(
    ("filters", "names"),
    [([("age", ">", 10)], ["Ann", "Dora"]), ([("age", "<=", "31")], ["Ann", "Bob", "Cid"]), ([("city", "=", "Ulm"), ("age", "!=", "")], ["Ann"]),
     ([("name", "contains", "o")], ["Bob", "Dora"]), ([("age", "=", 9.0)], ["Bob"]), ([("age", "=", "")], ["Cid"])],
)  # fmt: skip
def test_filters_compare_numbers_as_numbers(people: str, filters: list[Any], names: list[str]):
    assert [row[0] for row in CsvConnector.read(people, filters=filters).rows] == names


def test_a_table_is_described(people: str):
    found = CsvConnector.describe(people)
    assert found.columns == (CsvColumn("name", "text", 4), CsvColumn("age", "integer", 3), CsvColumn("city", "text", 3))
    assert (found.rows, found.broken, found.separator, found.sample[0]) == (4, 0, ",", ("Ann", "31", "Ulm"))


def test_a_table_is_written_and_read_again(workspace: Workspace):
    rows = [["x,y", 1], ['say "hi"\nthere', None], [" ", 2.5]]
    for path in ("a.csv", "b.TSV"):
        assert CsvConnector.write(path, ["t", "n"], rows) == 3
        assert CsvConnector.read(path).rows == (("x,y", "1"), ('say "hi"\nthere', ""), (" ", "2.5"))
    assert "\t" in workspace.read_text("b.TSV")


def test_broken_rows_come_with_the_answer(workspace: Workspace):
    workspace.write_text("b.csv", "a,b\n1,2,3\n4\n")
    found = CsvConnector.read("b.csv")
    assert found.rows == (("1", "2"), ("4", None))
    assert [row.line for row in found.broken] == [2, 3]


def test_one_answer_has_a_size(workspace: Workspace):
    workspace.write_text("w.csv", "a\n" + ("x" * 10_000 + "\n") * 100)
    found = CsvConnector.read("w.csv", limit=100)
    assert found.more
    assert 0 < len(found.rows) < 30


def test_a_private_table_is_told_first(people: str, book: Book):
    source = FileSource("people", people, DataSensitivity.CONFIDENTIAL)
    CsvConnector.read(source)
    CsvConnector.describe(source)
    assert book.names == ["people", "people"]
    book.fails = True
    for act in (lambda: CsvConnector.read(source), lambda: CsvConnector.describe(source)):
        with pytest.raises(OSError, match="store is gone"):
            act()


def test_what_cannot_be_is_refused(people: str, workspace: Workspace):
    wrong: list[dict[str, Any]] = [
        {"offset": -1}, {"limit": 0}, {"limit": 10**9}, {"columns": ["none"]}, {"filters": [("none", "=", 1)]}, {"filters": [("age", "~", 1)]}
    ]  # fmt: skip
    for given in wrong:
        with pytest.raises(UsageError):
            CsvConnector.read(people, **given)
    workspace.write_bytes("u.csv", b"a,b\n\xff\xfe,1\n")
    with pytest.raises(UsageError, match="no text in UTF-8"):
        CsvConnector.read("u.csv")
    for columns, rows in (([], []), (["a"], [["x", "y"]]), (["a"], ["x"]), (["a"], [["x" * 9_000_000]])):
        with pytest.raises(UsageError):
            CsvConnector.write("n.csv", columns, rows)
    assert not workspace.exists("n.csv")
    with pytest.raises(PathRefused):
        CsvConnector.read("/etc/passwd")


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
