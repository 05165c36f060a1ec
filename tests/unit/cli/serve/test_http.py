"""Address of the gateway, and an early stop."""

import pytest

from bascule.cli.parser.command_table import build_parser
from bascule.cli.serve.http import Stopping, door_of
from bascule.config.model.gateway import GatewaySettings
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.gateway.serve import Door

CONFIG = RuntimeConfig({}, gateway=GatewaySettings("10.0.0.5", 9000))


def door(*words: str) -> Door:
    return door_of(build_parser().parse_args(["serve", *words]), CONFIG)


def test_the_config_says_where_and_the_command_has_the_last_word():
    assert door().known_as == "http://10.0.0.5:9000/mcp"
    assert door("--host", "127.0.0.1", "--port", "1").known_as == "http://127.0.0.1:1/mcp"
    assert door("--url", "https://tools.example/mcp").known_as == "https://tools.example/mcp"
    assert door().development is None


def test_everybody_is_somebody_only_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]):
    assert door("--dev", "--user", "alice", "--session", "s-1").development == Principal("alice", "s-1")
    assert door("--dev").development is not None
    assert "acting as user" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused():
    with pytest.raises(UsageError, match="--url"):
        door("--url", "ftp://x")


def test_who_is_told_to_stop_before_the_start_stops_then():
    stopped: list[str] = []
    early, late = Stopping(), Stopping()
    early()
    early.follow(lambda: stopped.append("early"))
    late.follow(lambda: stopped.append("late"))
    assert stopped == ["early"]
    late()
    assert stopped == ["early", "late"]
