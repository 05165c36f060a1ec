"""Listings, page by page."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog import pages as listing
from bascule.catalog.pages import MAX_CURSOR, MAX_ENTRIES, MAX_NAME, MAX_PAGES, MAX_PROBLEMS, MAX_TTL, Pages
from bascule.core.errors import ProtocolViolation


def tool(name: Any = "read", **extra: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **extra}


def pages_of(*definitions: Any) -> Pages:
    pages = Pages()
    assert pages.add({"tools": list(definitions)}) is None
    return pages


def test_pages_are_joined_in_order():
    pages = Pages()

    assert pages.add({"tools": [tool("a")], "nextCursor": "1"}) == "1"
    assert pages.add({"tools": [], "nextCursor": "2"}) == "2"
    assert pages.add({"tools": [tool("b")]}) is None
    assert list(pages.definitions) == ["a", "b"]
    assert pages.problems == ()


def test_a_definition_is_kept_as_it_came():
    definition = tool(unknownField=[1], _meta={"x": 1})

    assert pages_of(definition).definitions["read"] is definition


@pytest.mark.parametrize("cursor", [None, ""])
def test_no_cursor_and_an_empty_one_end_the_list(cursor: Any):
    assert Pages().add({"tools": [], "nextCursor": cursor}) is None


@pytest.mark.parametrize("result", [{}, {"tools": None}, {"tools": {"a": 1}}, {"tools": "read"}])
def test_a_page_without_a_list_is_a_violation(result: dict[str, Any]):
    with pytest.raises(ProtocolViolation, match="no list of tools"):
        Pages().add(result)


@pytest.mark.parametrize("cursor", [1, True, ["a"], {"a": 1}])
def test_a_cursor_that_is_not_text_is_a_violation(cursor: Any):
    with pytest.raises(ProtocolViolation, match="not text"):
        Pages().add({"tools": [], "nextCursor": cursor})


def test_a_cursor_of_any_length_is_not_kept():
    pages = Pages()

    assert pages.add({"tools": [], "nextCursor": "x" * MAX_CURSOR})
    with pytest.raises(ProtocolViolation, match="cursor of 16,385 characters"):
        pages.add({"tools": [], "nextCursor": "y" * (MAX_CURSOR + 1)})


def test_a_cursor_given_twice_is_a_violation():
    pages = Pages()
    pages.add({"tools": [], "nextCursor": "a"})
    pages.add({"tools": [], "nextCursor": "b"})

    with pytest.raises(ProtocolViolation, match="same cursor twice"):
        pages.add({"tools": [], "nextCursor": "a"})


def test_too_many_pages_are_a_violation():
    pages = Pages()
    for number in range(MAX_PAGES - 1):
        pages.add({"tools": [], "nextCursor": str(number)})

    with pytest.raises(ProtocolViolation, match="pages"):
        pages.add({"tools": [], "nextCursor": "one more"})


def test_the_last_page_may_be_the_last_allowed():
    pages = Pages()
    for number in range(MAX_PAGES - 1):
        pages.add({"tools": [], "nextCursor": str(number)})

    assert pages.add({"tools": []}) is None


def test_too_many_tools_are_a_violation_even_if_they_are_all_one():
    pages = Pages()
    pages.add({"tools": [tool()] * MAX_ENTRIES, "nextCursor": "a"})

    with pytest.raises(ProtocolViolation, match="tools"):
        pages.add({"tools": [tool()]})


def test_the_size_of_all_definitions_is_known():
    assert pages_of(tool("a"), tool("b")).size == len('{"name":"a","inputSchema":{"type":"object"}}') * 2


def test_too_large_a_list_is_a_violation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listing, "MAX_BYTES", 1000)
    pages = pages_of(tool("a", description="x" * 500))

    with pytest.raises(ProtocolViolation, match="larger than 1,000 bytes"):
        pages.add({"tools": [tool("b", description="x" * 500)]})


@given(st.lists(st.none() | st.text(max_size=2) | st.integers(), max_size=2000), st.integers(0, 50))
def test_whatever_cursors_a_server_gives_the_list_ends(cursors: list[Any], tools: int):
    pages = Pages()
    asked = 0
    try:
        while pages.add({"tools": [tool()] * tools, "nextCursor": cursors[asked % len(cursors)] if cursors else None}):
            asked += 1
    except ProtocolViolation:
        pass
    assert asked < MAX_PAGES


BAD: dict[str, Any] = {
    "null": None,
    "text": "read",
    "a list": [],
    "empty": {},
    "no name": tool(None),
    "a number for a name": tool(7),
    "an empty name": tool(""),
    "a name too long": tool("x" * (MAX_NAME + 1)),
    "a line break": tool("a\nb"),
    "text turned around": tool("\u202eread"),
    "an escape sequence": tool("\x1b[31m"),
    "not JSON": tool("bad", default=object()),
    "half a character": tool("bad", description="\ud800"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_one_unusable_tool_is_set_aside_and_its_neighbours_stay(bad: Any):
    pages = pages_of(tool("before"), bad, tool("after"))

    assert list(pages.definitions) == ["before", "after"]
    assert len(pages.problems) == 1
    assert len(pages.problems[0]) < 250


@pytest.mark.parametrize("name", ["get user", "repo/list", "größe", "a" * 200, "x.y-z_1", "💡"])
def test_a_sloppy_name_is_kept(name: str):
    pages = pages_of(tool(name))

    assert list(pages.definitions) == [name]
    assert pages.problems == ()


def test_a_tool_that_contains_itself_is_set_aside():
    circle: dict[str, Any] = tool("circle")
    circle["inputSchema"]["again"] = circle

    pages = pages_of(circle, tool("fine"))
    assert list(pages.definitions) == ["fine"]
    assert "not JSON" in pages.problems[0]


def test_of_two_tools_with_one_name_the_first_counts():
    first, second = tool("read", description="first"), tool("read", description="second")
    pages = pages_of(first, second)

    assert pages.definitions["read"] is first
    assert "listed twice" in pages.problems[0]


def test_problems_are_told_up_to_a_limit_and_counted_beyond():
    pages = pages_of(*[None] * (MAX_PROBLEMS + 5))

    assert len(pages.problems) == MAX_PROBLEMS + 1
    assert pages.problems[-1] == "and 5 more such problems"


def test_the_shortest_time_to_live_of_all_pages_holds_in_seconds():
    pages = Pages()
    pages.add({"tools": [], "ttlMs": 5000, "nextCursor": "a"})
    pages.add({"tools": [], "ttlMs": 2500, "nextCursor": "b"})
    pages.add({"tools": []})

    assert pages.ttl == 2.5


@pytest.mark.parametrize("ttl", [None, "5", True, -1, [], float("nan")])
def test_a_time_to_live_that_is_none_is_ignored(ttl: Any):
    pages = Pages()
    pages.add({"tools": [], "ttlMs": ttl})

    assert pages.ttl is None


@pytest.mark.parametrize("ttl", [MAX_TTL * 1000, 1e300, 10**400])
def test_a_time_to_live_beyond_reason_is_cut(ttl: float):
    pages = Pages()
    pages.add({"tools": [], "ttlMs": ttl})

    assert pages.ttl == MAX_TTL


def test_fingerprints_change_with_anything_in_a_definition():
    one, same = pages_of(tool(x=1)), pages_of(tool(x=1))

    assert one.fingerprints == same.fingerprints
    assert one.fingerprints != pages_of(tool(x=2)).fingerprints
