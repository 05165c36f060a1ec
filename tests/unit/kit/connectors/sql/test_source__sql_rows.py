import math

from bascule.kit.connectors.sql.source import SqlLimits, bounded_rows

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
