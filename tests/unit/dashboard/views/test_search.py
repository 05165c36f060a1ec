"""Queries as people type them."""

import pytest

from bascule.dashboard.views.search import MOST_FOUND, Query, found, query_of

ROW = {"server": "Notes", "tool": "notes_read", "user": "alice"}


@pytest.mark.parametrize("text", ["notes", "READ alice", "server:notes", "server:note tool:read alice", "tool:"])
def test_all_words_and_filters_have_to_fit(text: str):
    assert query_of(text).fits(ROW)


@pytest.mark.parametrize("text", ["bob", "notes bob", "server:read", "lane:open"])
def test_one_that_does_not_fit_is_enough(text: str):
    assert not query_of(text).fits(ROW)


def test_an_unknown_field_is_named_and_finds_nothing():
    query = query_of("colour:red")
    assert "'colour'" in query.problem
    assert found([ROW], query, lambda row: row) == ((), False)


def test_nothing_asked_for_finds_nothing_and_much_is_cut():
    assert found([ROW], Query(), lambda row: row) == ((), False)
    rows, more = found([ROW] * (MOST_FOUND + 1), query_of("notes"), lambda row: row)
    assert (len(rows), more) == (MOST_FOUND, True)
    assert len(query_of("x " * 5000).words) < 10
