"""Hostile SQL on both databases: nothing changes, and nothing outside of the source is read. Each of the two defences is
tried alone as well: what reads the query, and the connection it runs on."""

import datetime as dt
import decimal
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bascule.core.errors import BasculeError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import Rows, SqlConnector, SqlLimits, SqlSource
from bascule.kit.connectors.sql.postgres import postgres_reader
from bascule.kit.connectors.sql.query_check import CheckedQuery, checked_query
from bascule.kit.connectors.sql.sqlite import sqlite_reader
from support.hostile_sql import BOTH, HONEST, HONEST_POSTGRES, HONEST_SQLITE, POSTGRES, SQLITE
from support.postgres import PostgresServer, execute

CANARY = "the canary sings"
LIMITS = SqlLimits(seconds=0.3, rows=50)
ALLOWED = frozenset(["orders", "customers"])
VALUES = {"id": 1, "note": "a"}

SQLITE_SETUP = f"""
CREATE TABLE customers (id integer PRIMARY KEY, name text, data text);
CREATE TABLE orders (id integer PRIMARY KEY, customer int, total real, note text, day text);
CREATE TABLE hidden_orders (id integer PRIMARY KEY, note text);
INSERT INTO customers VALUES (1, 'Ann', '{{"city": "Ulm", "tags": ["a", "b"]}}'), (2, 'Bob', NULL);
INSERT INTO orders VALUES (1, 1, 12.5, 'a', '2024-01-02'), (2, 1, 3, NULL, '2024-02-03'), (3, 2, 99, 'ba', '2024-03-04');
INSERT INTO hidden_orders VALUES (1, '{CANARY}');
"""

POSTGRES_SETUP = f"""
CREATE TABLE customers (id int PRIMARY KEY, name text, data jsonb);
CREATE TABLE orders (id int PRIMARY KEY, customer int, total numeric, note text, day date);
CREATE TABLE hidden_orders (id int PRIMARY KEY, note text);
INSERT INTO customers VALUES (1, 'Ann', '{{"city": "Ulm", "tags": ["a", "b"]}}'), (2, 'Bob', NULL);
INSERT INTO orders VALUES (1, 1, 12.5, 'a', '2024-01-02'), (2, 1, 3, NULL, '2024-02-03'), (3, 2, 99, 'ba', '2024-03-04');
INSERT INTO hidden_orders VALUES (1, '{CANARY}');
CREATE SCHEMA hidden;
CREATE TABLE hidden.secrets (note text);
INSERT INTO hidden.secrets VALUES ('{CANARY}');
CREATE SEQUENCE counter;
CREATE TYPE mood AS ENUM ('1', '2');
CREATE FUNCTION wipe_orders() RETURNS int LANGUAGE sql VOLATILE AS 'DELETE FROM public.orders; SELECT 1';
CREATE FUNCTION wipe_row(public.orders) RETURNS int LANGUAGE sql VOLATILE AS 'DELETE FROM public.orders; SELECT 1';
CREATE FUNCTION peek() RETURNS text LANGUAGE sql AS 'SELECT note FROM hidden.secrets';
CREATE FUNCTION plus(int, int) RETURNS text LANGUAGE sql AS 'SELECT note FROM hidden.secrets';
CREATE OPERATOR <+> (LEFTARG = int, RIGHTARG = int, FUNCTION = plus);
CREATE PROCEDURE wipe() LANGUAGE sql AS 'DELETE FROM public.orders';
SELECT lo_from_bytea(0, 'kept');
GRANT ALL ON ALL TABLES IN SCHEMA public, hidden TO reader;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO reader;
GRANT ALL ON SCHEMA public, hidden TO reader;
"""

POSTGRES_STATE = """
SELECT (SELECT json_agg(o ORDER BY id) FROM public.orders o)::text, (SELECT json_agg(c ORDER BY id) FROM public.customers c)::text,
(SELECT json_agg(h) FROM public.hidden_orders h)::text, (SELECT json_agg(s) FROM hidden.secrets s)::text,
(SELECT array_agg(relname || relkind::text || coalesce(relacl::text, '') ORDER BY oid) FROM pg_class WHERE oid > 16000)::text,
(SELECT array_agg(proname ORDER BY oid) FROM pg_proc WHERE oid > 16000)::text,
(SELECT array_agg(attname ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid > 16000)::text,
(SELECT array_agg(loid || encode(data, 'hex') ORDER BY loid) FROM pg_largeobject)::text,
(SELECT count(*) FROM pg_largeobject_metadata), (SELECT array_agg(rolname || rolsuper ORDER BY 1) FROM pg_roles)::text,
(SELECT last_value || is_called::text FROM public.counter), (SELECT count(*) FROM pg_db_role_setting),
(SELECT count(*) FROM pg_description WHERE objoid > 16000)
"""


class SqlitePlace:
    dialect = "sqlite"
    hostile = (*BOTH, *SQLITE)
    honest = (*HONEST, *HONEST_SQLITE)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = SqlSource("shop", DataSensitivity.PUBLIC, path=folder / "shop.db", tables=ALLOWED, limits=LIMITS)
        for name, script in {
            "shop.db": SQLITE_SETUP,
            "other.db": SQLITE_SETUP.replace("hidden_orders", "secrets"),
        }.items():
            with closing(sqlite3.connect(folder / name)) as database:
                database.executescript(script)

    def state(self) -> Any:
        return files(self.folder)

    def unread(self, sql: str) -> Rows:
        """Without anybody having looked at the query."""
        with sqlite_reader(self.source) as reader:
            return reader.run(CheckedQuery(sql, (), frozenset()), {})

    def careless(self, sql: str) -> Any:
        """What was let through, on a connection that may do everything."""
        with sqlite_reader(self.source) as reader:
            query = checked_query(sql, reader.tables)
        with closing(sqlite3.connect(self.folder / "shop.db", isolation_level=None)) as database:
            getattr(database, "enable_load_extension", bool)(True)
            database.set_progress_handler(iter([0] * 2000).__next__, 1000)
            with suppress(sqlite3.Error):
                return database.execute(query.sql, dict.fromkeys(query.parameters, 1)).fetchmany(50)


class PostgresPlace:
    dialect = "postgres"
    hostile = (*BOTH, *POSTGRES)
    honest = (*HONEST, *HONEST_POSTGRES)

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.address = address
        reader = address.replace("//bascule@", "//reader@")
        self.source = SqlSource("shop", DataSensitivity.PUBLIC, dsn=reader, tables=ALLOWED, limits=LIMITS)
        execute(address, POSTGRES_SETUP)
        self._operator = psycopg.connect(address, autocommit=True)

    def close(self) -> None:
        self._operator.close()
        execute(self.address, "SELECT lo_unlink(oid) FROM pg_largeobject_metadata")
        execute(self.address, "DROP SCHEMA hidden CASCADE")

    def state(self) -> Any:
        return self._operator.execute(POSTGRES_STATE.encode()).fetchall(), files(self.folder)

    def unread(self, sql: str) -> Rows:
        with postgres_reader(self.source) as reader:
            return reader.run(CheckedQuery(sql, (), frozenset()), {})

    def careless(self, sql: str) -> Any:
        with postgres_reader(self.source) as reader:
            query = checked_query(sql, reader.tables)
        options = "-c statement_timeout=200"
        with suppress(psycopg.Error), psycopg.connect(self.address, autocommit=True, options=options) as database:
            cursor = psycopg.RawCursor(database)
            return cursor.execute(query.sql.encode(), [1 for _ in query.parameters]).fetchmany(50)


Place = SqlitePlace | PostgresPlace


def files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        (tmp_path / "canary").write_text(CANARY)
        yield SqlitePlace(tmp_path)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    server.run("postgres", "DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    # Its server must be able to read and write here, or nothing would be proved.
    folder = server.folder / "canaries"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "canary").write_text(CANARY)
    place = PostgresPlace(folder, request.getfixturevalue("database"))
    yield place
    place.close()
    for path in [*folder.iterdir(), folder]:
        path.unlink() if path.is_file() else path.rmdir()


def offenders(place: Place, act: Callable[[str], Any], *, canary: bool) -> list[str]:
    """The queries that changed something, or brought what is not of the source."""
    found: list[str] = []
    before = place.state()
    for template in place.hostile:
        sql = template.replace("{folder}", str(place.folder))
        brought: Any = None
        with suppress(BasculeError):
            brought = act(sql)
        if canary and CANARY in repr(brought):
            found.append(f"{sql[:200]!r} read {str(brought)[:200]}")
        if (after := place.state()) != before:
            found.append(f"{sql[:200]!r} changed something")
            before = after
    return found


@pytest.mark.long
def test_hostile_queries_change_nothing_and_read_nothing_else(place: Place):
    assert len(place.hostile) >= 80
    assert not offenders(place, lambda sql: SqlConnector.query(place.source, sql), canary=True)


@pytest.mark.long
def test_the_connection_alone_lets_nothing_be_changed(place: Place):
    # SQLite's connection knows the tables of the source; in PostgreSQL that is what the role may read.
    assert not offenders(place, place.unread, canary=place.dialect == "sqlite")


@pytest.mark.long
def test_what_is_let_through_changes_nothing_on_a_connection_that_may_do_everything(place: Place):
    assert not offenders(place, place.careless, canary=True)


@pytest.mark.long
def test_what_is_let_through_of_the_hostile_queries_is_only_slow_or_plain(place: Place):
    through: list[str] = []
    for sql in place.hostile:
        with suppress(BasculeError):
            place.careless(sql.replace("{folder}", str(place.folder)))
            through.append(sql)
    for sql in through:
        assert any(word in sql for word in ("RECURSIVE", "generate_series", "FROM orders", "printf", "SELECT 'a\\'")), (
            sql
        )


def test_honest_queries_are_answered(place: Place):
    assert len(place.honest) >= 40
    for template in place.honest:
        sql = template.replace("{{", "{").replace("}}", "}")
        values = VALUES if ":id" in sql else {}
        try:
            answer = SqlConnector.query(place.source, sql, values)
        except BasculeError as error:
            pytest.fail(f"{sql}: {error} {error.evidence}")
        assert answer.columns
        assert answer.rows


def test_honest_queries_get_what_the_database_itself_would_say(place: Place):
    """They run rewritten, and must mean the same."""
    for template in place.honest:
        sql = template.replace("{{", "{").replace("}}", "}")
        if ":id" in sql or "current_" in sql or "age(" in sql:
            continue
        told = [tuple(map(as_told, row)) for row in SqlConnector.query(place.source, sql).rows]
        assert sorted(map(repr, told)) == sorted(map(repr, plain(place, sql))), sql


def plain(place: Place, sql: str) -> list[tuple[Any, ...]]:
    if isinstance(place, SqlitePlace):
        with closing(sqlite3.connect(place.folder / "shop.db")) as database:
            return database.execute(sql).fetchall()
    return [tuple(map(as_told, row)) for row in execute(place.address, sql)]


def as_told(value: Any) -> Any:
    match value:
        case decimal.Decimal():
            return int(value) if value == int(value) and "." not in str(value) else float(value)
        case dt.date() | dt.datetime():
            return str(value).replace("+00:00", "+00")
        case list():
            # An array is told as the text that PostgreSQL writes for it.
            return "{" + ",".join(map(str, value)) + "}"
        case _:
            return value
