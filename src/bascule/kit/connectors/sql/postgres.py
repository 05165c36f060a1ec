"""PostgreSQL reader: a read-only transaction that is always rolled back, by a role with no other rights. The query runs
as a subquery, where PostgreSQL itself rejects all that is no query or that changes data."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bascule.core.errors import BasculeError, ConfigError, ConnectFailed, UsageError
from bascule.kit.connectors.socket_deadline import Watch
from bascule.kit.connectors.sql.query_check import CheckedQuery, Tables
from bascule.kit.connectors.sql.source import Rows, SqlSource, bounded_rows
from bascule.kit.connectors.sql.sqlite import too_slow

if TYPE_CHECKING:
    import psycopg

_GRACE = 2.0
"""Seconds in which the server may stop a query itself, before we hang up on it."""

_PLAIN = frozenset([16, 20, 21, 23, 26, 700, 701])
"""Types that are small whatever they hold: booleans, whole numbers and floats. All others are asked for as text, since
only a text can be cut before it is sent."""

_NUMERIC = 1700
_JSON = frozenset([114, 3802])
_MOST_COLUMNS = 256
_BATCH = 16
_MOST_DIGITS = 300
"""What is longer is a text: other readers of JSON cannot hold such a number."""

_SETTINGS = {
    "search_path": "pg_catalog",  # a name that we did not put a schema to means nothing but the system's own
    "max_parallel_workers_per_gather": "0",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
}

_MIGHT = """
SELECT rolsuper OR rolbypassrls OR EXISTS (
    SELECT FROM pg_roles AS other
    WHERE other.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
    AND pg_has_role(current_user, other.oid, 'MEMBER'))
FROM pg_roles WHERE rolname = current_user
"""

_LIST = """
SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (n.nspname = $1 OR n.nspname || '.' || c.relname = ANY ($2))
AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1, 2
"""

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


_ALL_COLUMNS = """
SELECT DISTINCT a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE (n.nspname = $1 OR n.nspname || '.' || c.relname = ANY ($2)) AND NOT a.attisdropped
"""


class PostgresReader:
    """One connection, in one transaction. It lasts for one question."""

    def __init__(self, source: SqlSource, connection: "psycopg.Connection[Any]") -> None:
        self._source = source
        self._connection = connection
        wanted = source.tables
        full = None if wanted is None else frozenset(_full(name, source.schema) for name in wanted)
        found = connection.execute(_ALL_COLUMNS, (source.schema, sorted(full or ()))).fetchall()
        self.tables = Tables("postgres", source.schema, full, frozenset(name for (name,) in found))

    @property
    def names(self) -> tuple[str, ...]:
        found = self._connection.execute(_LIST, (self._source.schema, sorted(self.tables.names or ()))).fetchall()
        allowed = ((schema, name) for schema, name in found if self.tables.find(schema, name))
        return tuple(name if schema == self._source.schema else f"{schema}.{name}" for schema, name in allowed)

    def columns(self, table: str) -> list[tuple[str, str, bool]]:
        schema, _, name = _full(table, self._source.schema).partition(".")
        return self._connection.execute(_COLUMNS, (schema, name)).fetchall()

    def run(self, query: CheckedQuery, values: dict[str, Any]) -> Rows:
        limits = self._source.limits
        columns = self._described(query.sql)
        if not 0 < len(columns) <= _MOST_COLUMNS:
            raise UsageError("a query gives 1 to 256 columns", evidence=f"{len(columns)} columns")
        longest = max(1, min(limits.cell, limits.total // len(columns)))
        given = [values[name] for name in query.parameters]
        rows = self._rows(_wrapped(query.sql, columns, longest + 1), given)
        kinds = [kind for _, kind in columns]
        made = (tuple(_value(value, kind, longest) for value, kind in zip(row, kinds, strict=True)) for row in rows)
        return bounded_rows([name for name, _ in columns], made, limits)

    def _described(self, sql: str) -> list[tuple[str, int]]:
        """The columns that a query will give. The server reads it for this, but does not run it."""
        from psycopg import errors, pq  # noqa: PLC0415

        low = self._connection.pgconn
        for result in (low.prepare(b"", sql.encode()), low.describe_prepared(b"")):
            if result.status != pq.ExecStatus.COMMAND_OK:
                state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"XX000").decode()
                told = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
                try:
                    kind = errors.lookup(state)
                except KeyError:
                    kind = errors.DatabaseError
                raise kind(told)
        return [((result.fname(i) or b"").decode(), result.ftype(i)) for i in range(result.nfields)]

    def _rows(self, sql: str, given: list[Any]) -> Iterator[tuple[Any, ...]]:
        from psycopg import RawServerCursor  # noqa: PLC0415

        with RawServerCursor(self._connection, "bascule") as cursor:
            cursor.execute(sql.encode(), given)
            while batch := cursor.fetchmany(_BATCH):
                yield from batch


@contextmanager
def postgres_reader(source: SqlSource) -> Generator[PostgresReader]:
    """Everything that is done here is undone: what PostgreSQL lets a transaction write that only reads, too."""
    import psycopg  # noqa: PLC0415 -- an extra, and only who asks PostgreSQL has it

    with Watch(source.limits.seconds + _GRACE) as watch:
        connection = _connected(source)
        failure: BasculeError
        try:
            watch.over(connection.fileno())
            _tighten(connection, source)
            yield PostgresReader(source, connection)
        except psycopg.errors.QueryCanceled:
            failure = too_slow(source.limits)
        except psycopg.Error as error:
            failure = too_slow(source.limits) if watch.fired else _told(error, source)
        else:
            return
        finally:
            # Without a word to the server: an end of the connection is the end of the transaction, whatever it holds.
            connection.close()
    raise failure


def _connected(source: SqlSource) -> "psycopg.Connection[Any]":
    import psycopg  # noqa: PLC0415

    try:
        connection = psycopg.connect(
            source.dsn or "",
            connect_timeout=max(2, round(source.limits.seconds)),
            cursor_factory=psycopg.RawCursor,
            prepare_threshold=None,
        )
    except psycopg.Error as error:
        # Its own words may hold where the database is, and as whom we came.
        evidence = type(error).__name__
        raise ConnectFailed(
            f"the database of {source.name} cannot be reached",
            where=source.name,
            evidence=evidence,
            fix="an operator has to look whether it runs, and lets us in",
        ) from None
    connection.read_only = True
    return connection


def _tighten(connection: "psycopg.Connection[Any]", source: SqlSource) -> None:
    milliseconds = str(max(1, round(source.limits.seconds * 1000)))
    settings = _SETTINGS | {"statement_timeout": milliseconds, "lock_timeout": milliseconds}
    for name, value in settings.items():
        # The first of them begins the transaction; once something was read in it, it can no longer be made to write.
        connection.execute("SELECT pg_catalog.set_config($1, $2, true)", (name, value))
    might = connection.execute(_MIGHT).fetchone()
    if might is None or might[0]:
        raise ConfigError(
            f"the role of {source.name} may do more than read tables: it is a superuser, or may use the server's files",
            where=source.name,
            fix="make a role for it alone: CREATE ROLE … LOGIN; GRANT SELECT ON … TO …",
        )


def _wrapped(sql: str, columns: list[tuple[str, int]], longest: int) -> str:
    names = [f"c{number}" for number in range(len(columns))]
    shown = ", ".join(
        name if kind in _PLAIN else f"pg_catalog.left({name}::pg_catalog.text, {longest})"
        for name, (_, kind) in zip(names, columns, strict=True)
    )
    return f"SELECT {shown} FROM (\n{sql}\n) AS given ({', '.join(names)})"  # noqa: S608 -- it was looked at


def _value(value: Any, kind: int, longest: int) -> Any:
    if not isinstance(value, str) or len(value) > longest:
        return value
    if kind == _NUMERIC:
        return _number(value)
    return json.loads(value) if kind in _JSON else value


def _number(text: str) -> int | float | str:
    """Whole ones keep all their digits; who wants those of a fraction asks for `::text`."""
    if text.lstrip("-").isdigit():
        return int(text) if len(text) < _MOST_DIGITS else text
    return float(text)


def _full(name: str, schema: str) -> str:
    return name if "." in name else f"{schema}.{name}"


def _told(error: "psycopg.Error", source: SqlSource) -> BasculeError:
    if error.sqlstate is None or error.sqlstate.startswith(("08", "57P")):
        return ConnectFailed(f"the connection to the database of {source.name} broke", where=source.name)
    told = error.diag.message_primary or str(error)
    return UsageError(
        "the database refused the query", where=source.name, evidence=told, fix="look at its tables first"
    )
