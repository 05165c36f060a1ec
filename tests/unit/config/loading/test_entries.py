"""Entries sorted by the key table, and the layouts of a file."""

from typing import Any

import pytest

from bascule.config.loading.entries import (
    BARE,
    Entry,
    Given,
    Shape,
    fill_entry,
    is_server,
    read_values,
    shape_of,
    sort_keys,
)
from bascule.config.loading.key_table import SERVER_KEYS, TOP_KEYS, Key, Kind
from bascule.config.problems import Problems


def sort(raw: Any, keys: Any = SERVER_KEYS) -> tuple[Entry, list[str]]:
    problems = Problems("f")
    return sort_keys(keys, raw, ("s",), problems), [problem.told for problem in problems.found]


def test_nested_keys_are_sorted_by_their_dotted_names():
    entry, told = sort({"command": "npx", "tools": {"allow": ["a"]}, "timeouts": {"call": 5}})

    assert entry == {
        "command": Given("npx", ("s", "command")),
        "tools.allow": Given(["a"], ("s", "tools", "allow")),
        "timeouts.call": Given(5, ("s", "timeouts", "call")),
    }
    assert told == []


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"comand": "npx"}, 'f: s.comand: unknown key; did you mean "command"?'),
        ({"tools": {"alow": []}}, 'f: s.tools.alow: unknown key; did you mean "allow"?'),
        ({"timeout": 5}, 'f: s.timeout: unknown key; did you mean "timeouts"?'),
        ({"qqq": None}, "f: s.qqq: unknown key"),
        ({"tools.allow": []}, 'f: s."tools.allow": unknown key; did you mean "tools"?'),
        ({"tools": "all"}, "f: s.tools: must be a mapping of keys to values"),
    ],
)
def test_an_unknown_key_is_told_with_the_near_one(raw: Any, told: str):
    assert sort(raw)[1] == [told]


def test_what_is_no_mapping_is_told():
    assert sort("npx") == ({}, ["f: s: must be a mapping of keys to values"])
    assert len(sort(None)[1]) == 1


def test_a_key_of_a_later_version_is_never_silently_ignored():
    keys = {"later": Key("later", Kind.OTHER, "Later.", available=False)}
    for value in (1, "x", {}, {"a": 1}, [], False):
        assert sort({"later": value}, keys) == ({}, ["f: s.later: later is not available in this version; remove it"])


def test_a_table_of_a_later_version_is_told_whole():
    keys = {"later.a": Key("later.a", Kind.OTHER, "Later.", available=False)}
    assert sort({"later": {}}, keys)[1] == ["f: s.later: later is not available in this version; remove it"]


def test_a_table_that_is_available_in_part_is_read_in_part():
    keys = {
        "catalog.screen": TOP_KEYS["catalog.screen"],
        "catalog.later": Key("catalog.later", Kind.OTHER, "Later.", available=False),
    }
    entry, told = sort({"catalog": {"later": 9, "screen": "flag"}}, keys)

    assert entry == {"catalog.screen": Given("flag", ("s", "catalog", "screen"))}
    assert told == ["f: s.catalog.later: catalog.later is not available in this version; remove it"]


def test_null_is_the_same_as_leaving_the_key_out():
    assert sort({"command": None, "oauth": None, "sandbox": None, "tools": {"allow": None}}) == ({}, [])


def test_variables_are_put_in_and_the_unset_ones_have_their_place():
    entry, missing = fill_entry({"env": Given({"A": "${X}", "B": "${NOPE}"}, ("s", "env"))}, {"X": "1"})

    assert entry["env"].value["A"] == "1"
    assert [each.path for each in missing] == [("s", "env", "B")]


def test_every_available_key_has_a_value():
    problems = Problems("f")
    values = read_values(
        SERVER_KEYS, {"timeouts.call": Given(5, ("t",)), "args": Given(["a", 5], ("x", "args"))}, problems
    )

    assert values.keys() == {name for name, key in SERVER_KEYS.items() if key.available}
    assert values["timeouts.call"] == 5
    assert values["timeouts.list"] == 15
    assert [problem.path for problem in problems.found] == [("x", "args", 1)]


SERVER = {"command": "npx"}


@pytest.mark.parametrize(
    ("root", "key", "foreign"),
    [
        ({"mcp_servers": {"a": SERVER}}, "mcp_servers", False),
        ({"mcp_servers": None}, "mcp_servers", False),
        ({"mcpServers": {"a": SERVER}, "theme": "dark"}, "mcpServers", True),
        ({"servers": {"a": SERVER}, "inputs": []}, "servers", True),
        ({"mcpServers": {}, "servers": {}}, "mcpServers", True),
        ({"a": SERVER, "b": {"url": "https://a.test"}}, None, True),
        ({"servers": SERVER}, None, True),
    ],
)
def test_a_shape_is_told_by_its_keys(root: Any, key: str | None, foreign: bool):
    assert shape_of(root) == Shape(key, foreign)


@pytest.mark.parametrize("root", [{}, {"mcp_server": {"a": SERVER}}, {"a": "b"}, {"a": {"b": "c"}}])
def test_a_file_without_servers_has_no_shape(root: Any):
    assert shape_of(root) is None


def test_the_path_to_the_servers():
    assert BARE.path == ()
    assert Shape("servers", foreign=True).path == ("servers",)


@pytest.mark.parametrize("value", [None, "npx", [], {}, {"command": {"url": "x"}}])
def test_what_is_no_server(value: Any):
    assert not is_server(value)
