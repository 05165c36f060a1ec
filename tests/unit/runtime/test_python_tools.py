"""Functions as a configured server."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config import NativeTransport, RuntimeConfig, ServerConfig, StreamableHttpTransport
from bascule.core.errors import ConfigError, UsageError
from bascule.core.permission import Permission
from bascule.runtime.python_tools import native_server, natives_of, with_natives
from bascule.transports.inprocess.python_tool import tool

READ, WRITE, CONNECT = Permission


@tool("read")
def look() -> None: ...


@tool("write")
def change() -> None: ...


def unsaid() -> None: ...


OTHER = ServerConfig("other", StreamableHttpTransport("http://127.0.0.1:9/mcp"))


def test_what_functions_say_of_themselves_counts_as_an_operators_map():
    server = native_server("own", [look, change, unsaid])

    assert isinstance(server.transport, NativeTransport)
    assert [each.name for each in server.transport.tools] == ["look", "change", "unsaid"]
    assert server.permissions == {"look": {READ}, "change": {WRITE}}
    assert server.trust == {"fatal"}


def test_an_operators_map_beside_it_tightens_and_speaks_for_those_who_said_nothing():
    server = native_server("own", [look, unsaid], permissions={"look": ["connect"], "unsaid": ["read"]})
    assert server.permissions == {"look": {READ, CONNECT}, "unsaid": {READ}}


def test_settings_are_those_of_any_server():
    server = native_server("own", [look], prefix="", ask=("look",), trust=["labels"])
    assert (server.tool_prefix, server.ask, server.trust) == ("", ("look",), {"labels", "fatal"})
    with pytest.raises(ConfigError):
        native_server("own", [look], raises={"look": "very"})


@pytest.mark.parametrize("setting", [{"vouched": None}, {"isolated": None}, {"sandbox": None}, {"kit": False}])
def test_what_means_nothing_for_functions_is_refused(setting: dict[str, Any]):
    with pytest.raises(UsageError, match=min(setting)):
        native_server("own", [look], **setting)


def test_a_server_has_functions():
    with pytest.raises(UsageError, match="no functions"):
        native_server("own", [])


def test_functions_stand_beside_the_servers_of_a_config():
    config = RuntimeConfig({"other": OTHER}, path=Path("x.yaml"))
    own = native_server("own", [look])
    both = with_natives(config, {"own": own})

    assert both.servers == {"other": OTHER, "own": own}
    assert both.path == config.path
    assert natives_of(both) == {"own"}
    assert with_natives(config, {}) is config
    with pytest.raises(UsageError, match="'own'"):
        with_natives(both, {"own": own})
