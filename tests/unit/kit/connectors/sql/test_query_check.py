from typing import Any

import pytest

from bascule.core.errors import UsageError
from bascule.kit.connectors.sql.query_check import MAX_NESTING, MAX_SQL, Tables, _check_words, checked_query

SQLITE = Tables("sqlite", "main", frozenset(["main.orders"]))
POSTGRES = Tables("postgres", "public", frozenset(["public.orders", "sales.Deals"]), frozenset(["id", "total"]))
SCHEMA = Tables("postgres", "public", None, frozenset(["id"]))


@pytest.mark.parametrize(
    ("sql", "tables", "written"),
    [
        ("select Id from ORDERS -- all", POSTGRES, 'SELECT "id" FROM "public"."orders"'),
        ('select o.id from sales."Deals" as o', POSTGRES, 'SELECT "o"."id" FROM "sales"."Deals" AS "o"'),
        ("select id from anything", SCHEMA, 'SELECT "id" FROM "public"."anything"'),
        ("select x from (select 1 as x) as y", SCHEMA, 'SELECT "x" FROM (SELECT 1 AS "x") AS "y"'),
        ("select Id from ORDERS", SQLITE, "SELECT Id FROM ORDERS"),
        ("with C(n) as (select 1) select n from c", SQLITE, 'WITH "c"(n) AS (SELECT 1) SELECT n FROM c'),
    ],
)
def test_what_runs_is_written_anew_with_whole_names(sql: str, tables: Tables, written: str):
    assert checked_query(sql, tables).sql == written


def test_parameters_are_numbered_in_the_order_of_their_first_use():
    query = checked_query("select id from orders where id = :b or total = :a or id = :b", POSTGRES)
    assert query.parameters == ("b", "a")
    assert query.sql.endswith('WHERE "id" = $1 OR "total" = $2 OR "id" = $1')
    assert checked_query("select id from orders where id = :b", SQLITE).sql.endswith("WHERE id = :b")


@pytest.mark.parametrize("sql", ["select ?", "select $1", "select @a", "select %s"])
def test_parameters_without_a_name_are_refused(sql: str):
    for tables in (SQLITE, POSTGRES):
        with pytest.raises(UsageError):
            checked_query(sql, tables)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select id from ordrs", "no such table"),
        ("select id from sales.deals", "no such table"),
        ('select id from "Orders"', "no such table"),
        ("select orders.wipe from orders", "no such column"),
        ("select pg_read_file('x')", "may not be used"),
        ("select 1; select 2", "one query"),
        ("select 'a", "understood"),
        ("delete from orders", "only queries that read"),
        ("", "only queries that read"),
        ("select 1 as " + "x" * 64, "longer than 63"),
        ("select " + "(" * (MAX_NESTING + 1) + "1" + ")" * (MAX_NESTING + 1), "nests too deep"),
        ("select '" + "x" * MAX_SQL + "'", "too long"),
        ("select 1\0", "no text"),
        ("select 'x'::regclass", "may not be used"),
        ("select 'x'::mood", "may not be|cast"),
        ("select $$x$$", "may not be used"),
        ("select E'x'", "may not be used"),
        ("select from orders", "asks for nothing"),
    ],
)
def test_what_is_refused_says_why_and_what_to_do(sql: str, words: str):
    with pytest.raises(UsageError, match=words) as caught:
        checked_query(sql, POSTGRES)
    assert caught.value.fix
    assert caught.value.where == "sql"


def test_what_nests_deep_without_parentheses_is_refused_too():
    with pytest.raises(UsageError):
        checked_query("select " + "case when true then " * 400 + "1" + " end" * 400, POSTGRES)


@pytest.mark.parametrize(
    "sql",
    [
        "with hidden as (select * from hidden) select * from hidden",
        "select * from (with hidden as (select 1 as a) select * from hidden) as x, hidden",
        "with a as (select * from hidden), hidden as (select 1 as b) select * from a",
        "select 1 from orders where 1 in hidden",
    ],
)
def test_a_part_of_the_query_hides_a_table_only_where_it_can_be_seen(sql: str):
    for tables in (SQLITE, POSTGRES):
        with pytest.raises(UsageError):
            checked_query(sql, tables)


def test_names_that_the_query_gives_are_known():
    query = checked_query(
        "with A as (select 1 as x), b as (select x from a) select b.x as y from b order by y", POSTGRES
    )
    assert query.made == frozenset(["a", "b"])


@pytest.mark.long
def test_whatever_the_text_it_is_refused_or_comes_out_as_one_query():
    from hypothesis import given, settings
    from hypothesis import strategies as st

    words = [
        "select",
        "from",
        "orders",
        "where",
        "id",
        "(",
        ")",
        ",",
        ";",
        "--",
        "/*",
        "*/",
        "'",
        '"',
        "$$",
        "E'",
        ":a",
        "union",
        "with",
        "as",
        "delete",
        "pg_read_file",
        "1",
        ".",
        "*",
        "in",
    ]

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(st.lists(st.sampled_from(words), max_size=12))
    def look(parts: list[str]) -> None:
        for tables in (SQLITE, POSTGRES):
            written: Any = None
            try:
                written = checked_query("select " + " ".join(parts), tables).sql
            except UsageError:
                continue
            assert "pg_read_file(" not in written.lower().replace(" ", "")
            assert not written.lower().startswith("delete")

    look()


@pytest.mark.parametrize(
    "sql", ["SELECT pg_read_file('x')", "SELECT \"f\" ('x')", "SELECT 1; SELECT 2", "SELECT x.lo_import ('y')"]
)
def test_the_text_that_will_run_is_looked_at_word_by_word(sql: str):
    """Whatever the tree was taken for."""
    with pytest.raises(UsageError):
        _check_words(sql, "postgres", {"g"})
    _check_words('SELECT count(*) FROM "t" AS "g"("n") WHERE ("n") IN (1)', "postgres", {"g"})
