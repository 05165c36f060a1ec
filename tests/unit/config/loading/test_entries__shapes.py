"""Whose file it is."""

from typing import Any

import pytest

from bascule.config.loading.entries import BARE, Shape, is_server, shape_of

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
