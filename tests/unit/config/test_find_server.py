"""Servers by name, of two kinds."""

import pytest

from bascule.config.find_server import client_server_named, kit_server_named
from bascule.config.model.kit_server import KitServer
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.core.errors import ConfigError

FILES = ServerConfig("files", StdioTransport("npx"), location="bascule.yaml:2")
RECORDS = KitServer("records", "server.py", port=8123, location="bascule.yaml:5")
BROKEN = KitServer("broken", "", unavailable_reason=ConfigError("a variable is not set"))
CONFIG = RuntimeConfig({"files": FILES}, kit_servers={"records": RECORDS, "broken": BROKEN})


def test_each_is_found_among_its_own_kind():
    assert kit_server_named(CONFIG, "records") is RECORDS
    assert client_server_named(CONFIG, "files") is FILES


def test_a_client_entry_asked_for_as_a_server_is_told_so():
    with pytest.raises(
        ConfigError, match="files is a server that is connected to, and not one that is started"
    ) as told:
        kit_server_named(CONFIG, "files")

    assert told.value.where == "bascule.yaml:2"
    assert "type: server" in told.value.fix


def test_a_server_entry_asked_for_as_a_client_is_told_so():
    with pytest.raises(ConfigError, match="records is a server that is started here") as told:
        client_server_named(CONFIG, "records")

    assert told.value.where == "bascule.yaml:5"
    assert "http://127.0.0.1:8123/mcp" in told.value.fix


def test_one_that_cannot_be_used_says_why():
    with pytest.raises(ConfigError, match="a variable is not set"):
        kit_server_named(CONFIG, "broken")


def test_an_unknown_name_is_told_with_the_near_one():
    with pytest.raises(ConfigError, match="no server 'recrods' that is started here; did you mean \"records\"") as told:
        kit_server_named(CONFIG, "recrods")
    assert told.value.fix == "name one of records, broken"

    with pytest.raises(ConfigError, match='that is connected to; did you mean "files"'):
        client_server_named(CONFIG, "file")
    with pytest.raises(ConfigError) as none:
        kit_server_named(RuntimeConfig({}), "x")
    assert none.value.fix == "describe one that is started here under `mcp_servers`"
