import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed, PathRefused, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import SqlLimits, SqlSource
from bascule.kit.connectors.sql.query_check import CheckedQuery
from bascule.kit.connectors.sql.sqlite import sqlite_reader
from bascule.workspace import Workspace

PUBLIC = DataSensitivity.PUBLIC
SETUP = "CREATE TABLE a (x int NOT NULL, y text); INSERT INTO a VALUES (1, 'one'); CREATE TABLE b (z); INSERT INTO b VALUES (7);"


def make(path: Path, script: str = SETUP) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path


def ask(source: SqlSource, sql: str, made: frozenset[str] = frozenset()) -> tuple[tuple[object, ...], ...]:
    with sqlite_reader(source) as reader:
        return reader.run(CheckedQuery(sql, (), made), {}).rows


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make(tmp_path / "shop #1?.db")


def test_a_file_of_this_machine_is_read_whatever_its_name(shop: Path):
    assert ask(SqlSource("s", PUBLIC, path=shop), "SELECT * FROM a") == ((1, "one"),)


def test_only_the_tables_of_the_source_are_there(shop: Path):
    source = SqlSource("s", PUBLIC, path=shop, tables=frozenset(["A"]))
    with sqlite_reader(source) as reader:
        assert reader.names == ("a",)
        assert reader.columns("a") == [("x", "INT", False), ("y", "TEXT", True)]
    with pytest.raises(UsageError, match="refused") as caught:
        ask(source, "SELECT * FROM b")
    assert "prohibited" in caught.value.evidence


@pytest.mark.parametrize(
    "sql",
    ["SELECT count(*) FROM b", "SELECT 1 FROM b", "SELECT sql FROM sqlite_schema", "SELECT 1 FROM a WHERE x IN b"],
)
def test_not_even_that_there_are_others_can_be_seen(shop: Path, sql: str):
    with pytest.raises(UsageError, match="refused"):
        ask(SqlSource("s", PUBLIC, path=shop, tables=frozenset(["a"])), sql)


def test_a_view_that_may_be_read_reads_for_its_maker(tmp_path: Path):
    path = make(
        tmp_path / "v.db",
        SETUP + "CREATE VIEW v AS SELECT z + 1 AS w FROM b; CREATE VIEW m AS SELECT sql FROM sqlite_schema;",
    )
    source = SqlSource("s", PUBLIC, path=path, tables=frozenset(["v", "m"]))
    assert ask(source, "SELECT w FROM v") == ((8,),)
    with pytest.raises(UsageError):
        ask(source, "SELECT z FROM b")
    with pytest.raises(UsageError):
        ask(source, "SELECT * FROM m")


def test_a_part_of_the_query_may_be_counted(shop: Path):
    sql = "WITH c AS (SELECT x FROM a) SELECT count(*) FROM c"
    assert ask(SqlSource("s", PUBLIC, path=shop, tables=frozenset(["a"])), sql, frozenset(["c"])) == ((1,),)


def test_a_query_without_end_is_stopped(shop: Path):
    source = SqlSource("s", PUBLIC, path=shop, limits=SqlLimits(seconds=0.05))
    with pytest.raises(UsageError, match=r"longer than 0\.05 seconds"):
        ask(
            source,
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c",
            frozenset(["c"]),
        )


@pytest.mark.parametrize("sql", ["SELECT hex(printf('%4000000d', 1))", "SELECT y LIKE printf('%300d', 1) FROM a"])
def test_a_value_that_would_fill_the_memory_is_not_made(shop: Path, sql: str):
    with pytest.raises(UsageError, match="refused"):
        ask(SqlSource("s", PUBLIC, path=shop), sql)


def test_nobody_makes_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(ConnectFailed, match="cannot be opened"):
        ask(SqlSource("s", PUBLIC, path=tmp_path / "none.db"), "SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_the_workspace_is_read_through_it(workspace: Workspace, tmp_path: Path):
    workspace.write_bytes("data/shop.db", make(tmp_path / "x.db").read_bytes())
    assert ask(SqlSource("s", PUBLIC, file="data/shop.db"), "SELECT y FROM a") == (("one",),)


def test_one_that_is_kept_with_a_log_is_read_if_the_log_is_empty(workspace: Workspace, tmp_path: Path):
    path = make(tmp_path / "x.db", "PRAGMA journal_mode = WAL;" + SETUP)
    workspace.write_bytes("shop.db", path.read_bytes())
    source = SqlSource("s", PUBLIC, file="shop.db")
    assert ask(source, "SELECT y FROM a") == (("one",),)
    for ending in ("-wal", "-journal"):
        workspace.write_text(f"shop.db{ending}", "something")
        with pytest.raises(UsageError, match="somebody is writing"):
            ask(source, "SELECT y FROM a")
        workspace.delete(f"shop.db{ending}")


def test_a_link_that_leads_out_of_the_workspace_is_refused(workspace: Workspace, shop: Path):
    Path(workspace.host_path("link.db")).symlink_to(shop)
    with pytest.raises(PathRefused):
        ask(SqlSource("s", PUBLIC, file="link.db"), "SELECT * FROM a")
    with pytest.raises(PathRefused):
        ask(SqlSource("s", PUBLIC, file="../x.db"), "SELECT * FROM a")


def test_without_a_request_there_is_no_workspace_to_read_from():
    with pytest.raises(UsageError, match="whose workspace"):
        ask(SqlSource("s", PUBLIC, file="x.db"), "SELECT 1")


def test_what_is_no_database_or_too_large_is_refused(workspace: Workspace, tmp_path: Path):
    workspace.write_text("a.db", "hello")
    with pytest.raises(UsageError, match="no SQLite database"):
        ask(SqlSource("s", PUBLIC, file="a.db"), "SELECT 1")
    data = make(tmp_path / "x.db").read_bytes()
    workspace.write_bytes("b.db", data)
    with pytest.raises(UsageError, match="too large"):
        ask(SqlSource("s", PUBLIC, file="b.db", limits=SqlLimits(file=len(data) - 1)), "SELECT 1")
    workspace.write_bytes("c.db", data[:100] + b"\xff" * (len(data) - 100))
    with pytest.raises(UsageError, match="refused"):
        ask(SqlSource("s", PUBLIC, file="c.db"), "SELECT * FROM a")


@pytest.mark.parametrize(
    "sql", ["PRAGMA query_only = OFF", "ATTACH ':memory:' AS x", "DELETE FROM a", "CREATE TEMP TABLE x (y)", "SELECT fts3_tokenizer('simple')", "SELECT sqlite_version()", "EXPLAIN DELETE FROM a"]
)  # fmt: skip
def test_all_but_reading_is_denied_while_it_is_compiled(shop: Path, sql: str):
    with pytest.raises(UsageError, match="refused") as caught:
        ask(SqlSource("s", PUBLIC, path=shop), sql)
    assert "authoriz" in caught.value.evidence or "prohibited" in caught.value.evidence


def test_the_file_itself_is_open_for_reading_only_and_so_is_the_connection(shop: Path):
    with sqlite_reader(SqlSource("s", PUBLIC, path=shop)) as reader:
        assert reader._database.execute("PRAGMA query_only").fetchone() == (1,)
        reader._database.execute("PRAGMA query_only = OFF")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._database.execute("DELETE FROM a")
