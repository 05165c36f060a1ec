from typing import Any

import pytest

from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import SqlSource

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
