""" """

import math
from typing import Any

import pytest

from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import SqlSource
from bascule.kit.connectors.sql.source import SqlLimits, bounded_rows

PUBLIC = DataSensitivity.PUBLIC


def test_the_kind_of_database_is_told_from_where_it_is():
    assert SqlSource("a", PUBLIC, path="/a.db").dialect == "sqlite"
    assert SqlSource("a", PUBLIC, file="a.db").dialect == "sqlite"
    assert SqlSource("a", PUBLIC, dsn="postgresql://x").dialect == "postgres"


def test_how_to_reach_it_is_not_shown():
    assert "hunter2" not in repr(SqlSource("a", PUBLIC, dsn="postgresql://u:hunter2@h/d"))


def test_tables_are_frozen_whatever_they_were_given_as():
    names: Any = ["orders"]
    assert SqlSource("a", PUBLIC, path="/a.db", tables=names).tables == frozenset(["orders"])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "one of path, file and dsn"),
        ({"path": "/a", "file": "b"}, "one of path, file and dsn"),
        ({"path": "a.db"}, "must be absolute"),
        ({"path": "/a", "tables": "orders"}, "a set of names"),
        ({"dsn": "x", "schema": "pg_catalog"}, "database's own"),
        ({"dsn": "x", "schema": "information_schema"}, "database's own"),
        ({"dsn": "x", "tables": {"pg_catalog.pg_authid"}}, "database's own"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_written(wrong: dict[str, Any], words: str):
    with pytest.raises(TypeError, match=words):
        SqlSource("a", PUBLIC, **wrong)


SMALL = SqlLimits(rows=2, cell=5, total=100)


def test_no_more_rows_are_read_than_are_shown_but_for_one():
    rows = iter([(1,), (2,), (3,), (4,)])
    found = bounded_rows(["n"], rows, SMALL)
    assert (found.columns, found.rows, found.more) == (("n",), ((1,), (2,)), True)
    assert list(rows) == [(4,)]


def test_all_of_them_means_that_there_are_no_more():
    assert not bounded_rows(["n"], [(1,), (2,)], SMALL).more


def test_long_values_are_cut_and_counted():
    found = bounded_rows(["t"], [("abcdef",), (b"\x01\xff",), (b"abcd",)], SqlLimits(cell=6))
    assert found.rows == (("abcdef",), ("0x01ff",), ("0x6162…",))
    assert found.cut == 1


def test_all_together_have_an_end_and_the_first_row_is_always_there():
    found = bounded_rows(["t"], [("x" * 50,), ("y",)], SqlLimits(total=40))
    assert (len(found.rows), found.more) == (1, True)


def test_numbers_that_json_lacks_are_texts():
    assert bounded_rows(["n"], [(math.inf, math.nan, None, True)], SMALL).rows == (("inf", "nan", None, True),)
