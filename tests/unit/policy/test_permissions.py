"""Permissions of tools and other requests, and requests that may be repeated."""

from typing import Any

import pytest

from bascule.core.permission import UNDECLARED, Permission
from bascule.core.tool import ASKING
from bascule.policy.permissions import (
    DECLARED_IN,
    METHODS,
    ServerWord,
    declared_permissions,
    may_repeat,
    permissions_of,
    permissions_of_request,
)

READ, WRITE, CONNECT = Permission.READ, Permission.WRITE, Permission.CONNECT
R, W, C = frozenset({READ}), frozenset({WRITE}), frozenset({CONNECT})


@pytest.mark.parametrize(
    ("word", "approved", "expected"),
    [
        ({}, False, UNDECLARED),
        ({}, True, UNDECLARED),
        ({"other": R}, True, UNDECLARED),
        ({"read_file": R}, False, R),
        ({"read_*": R}, False, UNDECLARED),
        ({"read_*": R}, True, R),
        ({"*": R}, False, UNDECLARED),
        ({"read_fil?": R | C}, False, UNDECLARED),
        ({"READ_FILE": R}, True, UNDECLARED),
        ({"read_*": W}, False, W),
        ({"read_*": C}, False, C),
        ({"read_*": W, "*_file": C}, False, W | C),
        ({"read_file": R, "read_*": W}, False, R | W),
        ({"read_file": R, "*": R}, False, R | W | C),
        ({"read_file": R, "*": R}, True, R),
        ({"read_file": R, "*_secret": W}, False, R),
    ],
)
def test_the_operators_map_decides(word: Any, approved: bool, expected: Any):
    assert permissions_of("read_file", word, approved=approved) == expected


@pytest.mark.parametrize("name", ["read_*", "*", "read_[ab]", "r?"])
def test_a_tool_that_is_called_like_a_pattern_is_not_named_by_it(name: str):
    assert permissions_of(name, {name: R}, approved=False) == UNDECLARED
    assert permissions_of(name, {name: W}, approved=False) == W


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_entry_for_another_request_speaks_of_no_tool(method: str):
    assert permissions_of(method, {method: R}, approved=True) == UNDECLARED
    assert permissions_of_request(method, {method: R}) == R


def test_other_requests_read_and_connect_unless_they_are_mapped_themselves():
    assert permissions_of_request("resources/read", {}) == ASKING == R | C
    assert permissions_of_request("resources/read", {"resources/*": R, "*": W}) == ASKING
    assert permissions_of_request("resources/read", {"prompts/get": W}) == ASKING


def declared(trust: set[str], **definition: Any) -> frozenset[Permission]:
    return declared_permissions({"name": "a", **definition}, trust)


def test_nothing_is_declared_by_a_server_that_is_not_trusted():
    said = {"_meta": {DECLARED_IN: ["write"]}, "annotations": {}}
    assert declared(set(), **said) == frozenset()
    assert declared({"labels", "fatal"}, **said) == frozenset()


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (None, frozenset[Permission]()),
        ({}, frozenset[Permission]()),
        ({DECLARED_IN: []}, frozenset[Permission]()),
        ({DECLARED_IN: ["read"]}, R),
        ({DECLARED_IN: ["write", "connect"]}, W | C),
        ({DECLARED_IN: "read"}, UNDECLARED),
        ({DECLARED_IN: None}, UNDECLARED),
        ({DECLARED_IN: ["reed"]}, UNDECLARED),
        ({DECLARED_IN: ["read", 7]}, UNDECLARED),
        ({DECLARED_IN: [["read"]]}, UNDECLARED),
        ({DECLARED_IN: {"read": True}}, UNDECLARED),
        ("read", UNDECLARED),
    ],
)
def test_what_a_trusted_server_declares(meta: Any, expected: Any):
    assert declared({"permissions"}, _meta=meta) == expected
    assert declared({"annotations"}, _meta=meta) == frozenset()


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (None, frozenset[Permission]()),
        ({}, W | C),
        ({"title": "x"}, W | C),
        ({"readOnlyHint": True}, C),
        ({"openWorldHint": False}, W),
        ({"readOnlyHint": True, "openWorldHint": False}, frozenset[Permission]()),
        ({"readOnlyHint": 1, "openWorldHint": 0}, W | C),
        ({"readOnlyHint": "true", "openWorldHint": None}, W | C),
        ("x", UNDECLARED),
        ([], UNDECLARED),
    ],
)
def test_what_trusted_annotations_mean(hints: Any, expected: Any):
    assert declared({"annotations"}, annotations=hints) == expected
    assert declared({"permissions"}, annotations=hints) == frozenset()


def test_a_server_only_tightens():
    for said in (R, W, C, R | W | C):
        for word in ({}, {"a": R}, {"a": W}, {"*": C}):
            assert permissions_of("a", word, approved=True, declared=said) >= permissions_of("a", word, approved=True)
    assert permissions_of("a", {"a": R}, approved=False, declared=W) == R | W


def test_a_servers_word_is_asked_by_definition():
    word = ServerWord({"a*": R}, {"annotations"})
    assert word.permissions({"name": "act"}, approved=True) == R
    assert word.permissions({"name": "act"}, approved=False) == UNDECLARED
    assert word.permissions({"name": "act", "annotations": {"readOnlyHint": True}}, approved=True) == R | C


@pytest.mark.parametrize(
    ("globs", "tool", "may"),
    [
        ((), "get_row", False),
        (("get_*",), "get_row", True),
        (("get_*",), "forget_row", False),
        (("put", "get_row"), "get_row", True),
        (("GET_*",), "get_row", False),
        (("*",), "anything", True),
    ],
)
def test_a_tool_that_the_operator_names_may_be(globs: tuple[str, ...], tool: str, may: bool):
    assert may_repeat(globs, UNDECLARED, tool) is may


@pytest.mark.parametrize(
    ("permissions", "may"),
    [({READ}, True), ({READ, WRITE}, False), ({READ, CONNECT}, False), ({WRITE}, False), (set[Permission](), False)],
)
def test_a_tool_that_only_reads_may_be(permissions: set[Permission], may: bool):
    assert may_repeat((), frozenset(permissions), "act") is may
