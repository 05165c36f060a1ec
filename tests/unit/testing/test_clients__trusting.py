"""The config of a server under test believes its author, and what a test says stands above that."""

import sys
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server.lowlevel import Server

from bascule.config import InProcessTransport, ServerConfig
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.kit import ToolPermission, create_mcp_server, tool_permission
from bascule.testing.clients import TRUST, is_kit_server, name_of, trusting_config


def a_server() -> Any:
    mcp = create_mcp_server("Our Records")

    @mcp.tool
    @tool_permission(ToolPermission.READ, ToolPermission.CONNECT)
    def fetch() -> str:
        return ""

    return mcp


async def test_a_server_of_the_kit_is_believed_in_everything():
    config = await trusting_config("records", a_server(), {})

    assert config.kit
    assert config.trust == TRUST
    assert config.permissions == {"fetch": {Permission.READ, Permission.CONNECT}}
    assert config.vouched is DataSensitivity.SECRET


async def test_what_a_test_says_stands_above_that():
    config = await trusting_config("records", a_server(), {"trust": frozenset(), "vouched": None, "prefix": "x"})

    assert (config.trust, config.vouched, config.prefix) == (frozenset(), None, "x")


async def test_of_another_server_nothing_is_known_but_what_a_test_says():
    config = await trusting_config("other", FastMCP("other"), {})

    assert (config.kit, dict(config.permissions)) == (False, {})


async def test_a_config_is_taken_as_it_is():
    made = ServerConfig(name="other", transport=InProcessTransport(object()))

    assert await trusting_config("other", made, {"kit": True}) is made


def test_a_server_is_named_as_it_names_itself():
    assert name_of(a_server()) == "our-records"
    assert name_of(Server("plain")) == "plain"
    assert name_of(object()) == "server"
    assert is_kit_server(a_server())
    assert not is_kit_server(FastMCP("other"))


def test_where_there_is_no_fastmcp_no_server_is_of_the_kit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "bascule.kit.server")
    monkeypatch.setitem(sys.modules, "fastmcp", None)

    assert not is_kit_server(object())


def test_anything_else_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "bascule.kit.server", None)

    with pytest.raises(ModuleNotFoundError):
        is_kit_server(object())
