import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import SqlConnector, SqlSource
from bascule.kit.connectors.sql.connector import ColumnInfo
from support.private_data import Book


@pytest.fixture
def source(tmp_path: Path) -> SqlSource:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.executescript(
            "CREATE TABLE orders (id int NOT NULL, note text); INSERT INTO orders VALUES (1, 'a'), (2, 'b')"
        )
    return SqlSource("orders", DataSensitivity.SECRET, path=tmp_path / "a.db")


def test_what_is_asked_is_answered_and_told_first(source: SqlSource, book: Book):
    found = SqlConnector.query(source, "SELECT note FROM orders WHERE id = :id", {"id": 2})
    assert (found.columns, found.rows) == (("note",), (("b",),))
    assert SqlConnector.tables(source) == ("orders",)
    assert SqlConnector.describe(source, "orders") == (ColumnInfo("id", "INT", False), ColumnInfo("note", "TEXT", True))
    assert book.names == ["orders"] * 3


def test_if_it_cannot_be_told_nothing_is_opened(tmp_path: Path, book: Book):
    book.fails = True
    missing = SqlSource("orders", DataSensitivity.INTERNAL, path=tmp_path / "none.db")
    for act in (
        lambda: SqlConnector.query(missing, "SELECT 1"),
        lambda: SqlConnector.tables(missing),
        lambda: SqlConnector.describe(missing, "a"),
    ):
        with pytest.raises(OSError, match="store is gone"):
            act()


def test_an_unknown_table_is_answered_with_those_like_it(source: SqlSource, book: Book):
    with pytest.raises(UsageError, match="no such table") as caught:
        SqlConnector.describe(source, "order")
    assert "orders" in caught.value.fix


@pytest.mark.parametrize("given", [{}, {"id": 1, "more": 2}, {"other": 1}, {"id": [1]}, {"id": b"x"}])
def test_parameters_must_fit(source: SqlSource, book: Book, given: dict[str, Any]):
    with pytest.raises(UsageError, match="parameter"):
        SqlConnector.query(source, "SELECT note FROM orders WHERE id = :id", given)


def test_a_number_that_the_database_cannot_hold_is_refused(source: SqlSource, book: Book):
    with pytest.raises(UsageError, match="refused"):
        SqlConnector.query(source, "SELECT note FROM orders WHERE id = :id", {"id": 2**80})
