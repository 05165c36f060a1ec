import os
import signal
from collections.abc import Iterator

import psycopg
import pytest

from bascule.core.errors import ConfigError, ConnectFailed, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import SqlLimits, SqlSource
from bascule.kit.connectors.sql import postgres as sql_postgres
from bascule.kit.connectors.sql.postgres import postgres_reader
from bascule.kit.connectors.sql.query_check import CheckedQuery
from support.postgres import PostgresServer, execute

PUBLIC = DataSensitivity.PUBLIC


@pytest.fixture
def address(postgres: PostgresServer, database: str) -> Iterator[str]:
    postgres.run("postgres", "DO $$ BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    execute(database, "CREATE TABLE a (x int NOT NULL, y text); INSERT INTO a VALUES (1, 'one')")
    execute(
        database,
        "CREATE TABLE b (z int); CREATE VIEW v AS SELECT 1 AS w; GRANT SELECT ON a, v TO plain; GRANT USAGE ON SCHEMA public TO plain",
    )
    yield database.replace("//bascule@", "//plain@")
    execute(database, "DROP OWNED BY plain")


def ask(source: SqlSource, sql: str, *values: object) -> tuple[tuple[object, ...], ...]:
    with postgres_reader(source) as reader:
        names = tuple(f"p{number}" for number in range(len(values)))
        return reader.run(CheckedQuery(sql, names, frozenset()), dict(zip(names, values, strict=True))).rows


def test_values_come_as_json_has_them(address: str):
    sql = """SELECT 1, 2.5, 3::numeric, 1e400::numeric, 'NaN'::numeric, true, NULL, 'x', '\\x01ff'::bytea,
    '{"a": [1]}'::jsonb, DATE '2024-01-02', 'infinity'::timestamp, ARRAY[1, 2], 0.5::float8"""
    (row,) = ask(SqlSource("s", PUBLIC, dsn=address), sql)
    assert row[:3] == (1, 2.5, 3)
    assert isinstance(row[3], str)
    assert row[4:] == ("nan", True, None, "x", "\\x01ff", {"a": [1]}, "2024-01-02", "infinity", "{1,2}", 0.5)


def test_a_long_value_is_cut_before_it_is_sent(address: str):
    source = SqlSource("s", PUBLIC, dsn=address, limits=SqlLimits(cell=10))
    assert ask(source, "SELECT repeat('x', 100000), to_json(repeat('y', 100000))") == (
        ("x" * 10 + "…", '"' + "y" * 9 + "…"),
    )


def test_rows_are_fetched_as_far_as_they_are_shown(address: str):
    source = SqlSource("s", PUBLIC, dsn=address, limits=SqlLimits(rows=20))
    with postgres_reader(source) as reader:
        found = reader.run(CheckedQuery("SELECT * FROM generate_series(1, 1000)", (), frozenset()), {})
    assert (len(found.rows), found.more) == (20, True)


def test_parameters_are_never_part_of_the_text(address: str):
    source = SqlSource("s", PUBLIC, dsn=address)
    assert ask(source, "SELECT y FROM public.a WHERE y = $1 OR x = $2", "'; DROP TABLE a; --", 1) == (("one",),)


def test_only_what_may_be_read_is_listed(address: str):
    with postgres_reader(SqlSource("s", PUBLIC, dsn=address)) as reader:
        assert reader.names == ("a", "v")
        assert reader.columns("a") == [("x", "integer", False), ("y", "text", True)]
    with postgres_reader(SqlSource("s", PUBLIC, dsn=address, tables=frozenset(["v"]))) as reader:
        assert reader.names == ("v",)


def test_a_superuser_is_refused_and_so_is_who_may_read_files(address: str, database: str):
    with pytest.raises(ConfigError, match="more than read"):
        ask(SqlSource("s", PUBLIC, dsn=database), "SELECT 1")
    execute(database, "GRANT pg_read_server_files TO plain")
    try:
        with pytest.raises(ConfigError, match="more than read"):
            ask(SqlSource("s", PUBLIC, dsn=address), "SELECT 1")
    finally:
        execute(database, "REVOKE pg_read_server_files FROM plain")


def test_nothing_that_was_done_is_kept(address: str, database: str):
    """PostgreSQL 15 lets large objects be made in a transaction that only reads."""
    ask(SqlSource("s", PUBLIC, dsn=address), "SELECT lo_from_bytea(0, 'x')")
    assert execute(database, "SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]


def test_names_without_a_schema_mean_nothing_of_the_users(address: str):
    with pytest.raises(UsageError, match="refused") as caught:
        ask(SqlSource("s", PUBLIC, dsn=address), "SELECT * FROM a")
    assert "does not exist" in caught.value.evidence


def test_a_query_without_end_is_stopped_by_the_server(address: str):
    source = SqlSource("s", PUBLIC, dsn=address, limits=SqlLimits(seconds=0.1))
    with pytest.raises(UsageError, match=r"longer than 0\.1 seconds"):
        ask(source, "SELECT count(*) FROM generate_series(1, 10000000000)")


def test_a_server_that_falls_silent_is_hung_up_on(address: str, database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sql_postgres, "_GRACE", 0.2)
    source = SqlSource("s", PUBLIC, dsn=address, limits=SqlLimits(seconds=0.3))
    backend = 0
    try:
        with pytest.raises(UsageError, match="longer than"), postgres_reader(source) as reader:  # noqa: PT012 -- the block is what fails
            backend = reader._connection.info.backend_pid
            os.kill(backend, signal.SIGSTOP)
            reader.columns("a")
    finally:
        os.kill(backend, signal.SIGCONT)


def test_a_database_that_is_not_there_is_not_described(address: str):
    with pytest.raises(ConnectFailed, match="cannot be reached") as caught:
        ask(SqlSource("s", PUBLIC, dsn=address + "nothing"), "SELECT 1")
    assert "plain" not in repr(vars(caught.value))


@pytest.mark.parametrize("sql", ["SELECT", "SELECT " + ", ".join(["1"] * 257)])
def test_no_columns_and_too_many_are_refused(address: str, sql: str):
    with pytest.raises(UsageError, match="1 to 256"):
        ask(SqlSource("s", PUBLIC, dsn=address), sql)


def test_a_connection_that_breaks_is_told_as_that(address: str, database: str):
    source = SqlSource("s", PUBLIC, dsn=address)
    with pytest.raises(ConnectFailed, match="broke"), postgres_reader(source) as reader:  # noqa: PT012 -- the block is what fails
        with psycopg.connect(database, autocommit=True) as operator:
            operator.execute("SELECT pg_terminate_backend(%s, 5000)", (reader._connection.info.backend_pid,))
        reader.columns("a")


def test_the_connection_is_tight_before_anything_is_asked(address: str):
    with postgres_reader(SqlSource("s", PUBLIC, dsn=address, limits=SqlLimits(seconds=7))) as reader:
        names = ("transaction_read_only", "statement_timeout", "lock_timeout", "search_path")
        found = [reader._connection.execute("SELECT current_setting($1)", (name,)).fetchone() for name in names]
        assert found == [("on",), ("7s",), ("7s",), ("pg_catalog",)]
        with pytest.raises(psycopg.errors.ActiveSqlTransaction):
            reader._connection.execute("SET TRANSACTION READ WRITE")
