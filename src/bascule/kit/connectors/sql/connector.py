"""SQL connector: read-only queries on SQLite and PostgreSQL databases."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from bascule.core.errors import UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.source import tell
from bascule.kit.connectors.sql.postgres import PostgresReader, postgres_reader
from bascule.kit.connectors.sql.query_check import CheckedQuery, checked_query
from bascule.kit.connectors.sql.source import Rows, SqlSource
from bascule.kit.connectors.sql.sqlite import SqliteReader, sqlite_reader

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """One column of a table, as the database describes it."""

    name: str
    type: str
    nullable: bool


class SqlConnector(Connector):
    """Two defences, each of which would do: a query is read by us before it runs, and it runs where nothing can be
    changed."""

    @staticmethod
    def query(source: SqlSource, sql: str, parameters: Mapping[str, Value] | None = None) -> Rows:
        """One SELECT, with `:name` for each parameter."""
        tell(source)
        with _reader(source) as reader:
            query = checked_query(sql, reader.tables)
            return reader.run(query, _values(query, parameters or {}))

    @staticmethod
    def tables(source: SqlSource) -> tuple[str, ...]:
        """What may be asked for, tables and views alike."""
        tell(source)
        with _reader(source) as reader:
            return reader.names

    @staticmethod
    def describe(source: SqlSource, table: str) -> tuple[ColumnInfo, ...]:
        tell(source)
        with _reader(source) as reader:
            if table not in reader.names:
                near = ", ".join(get_close_matches(table[:64], reader.names)) or "list the tables first"
                raise UsageError("there is no such table in this source", where=source.name, fix=near)
            return tuple(ColumnInfo(*column) for column in reader.columns(table))


def _reader(source: SqlSource) -> AbstractContextManager[SqliteReader | PostgresReader]:
    return sqlite_reader(source) if source.dialect == "sqlite" else postgres_reader(source)


def _values(query: CheckedQuery, given: Mapping[str, Any]) -> dict[str, Any]:
    if set(given) != set(query.parameters):
        raise UsageError(
            "the parameters do not fit the query",
            evidence=f"it needs {sorted(query.parameters)}, and was given {sorted(given)}",
            fix="give one value for each :name in the query",
        )
    odd = [name for name, value in given.items() if not isinstance(value, str | int | float | None)]
    if odd:
        raise UsageError("a parameter is a text, a number, true, false or null", evidence=", ".join(sorted(odd)))
    return dict(given)
