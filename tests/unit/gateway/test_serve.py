import socket

import pytest

from bascule.config import AuthSettings
from bascule.config.model.gateway import GatewaySettings
from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.gateway import serve
from bascule.gateway.serve import Door, check_door, gateway_of, listen
from support.kit_http import AUTH
from support.ports import free_port
from support.runtime import running

ALICE = Principal("alice", "s-1")


def door(
    host: str = "127.0.0.1", *, dev: bool = False, auth: AuthSettings | None = None, url: str | None = None
) -> Door:
    return Door(GatewaySettings(host, 8470, auth or AuthSettings()), url, ALICE if dev else None)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_without_tokens_only_this_machine_is_served(host: str):
    check_door(door(host, dev=True))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "gateway.example"])
def test_one_principal_for_everybody_is_never_served_to_others(host: str):
    with pytest.raises(ConfigError, match="for this machine alone"):
        check_door(door(host, dev=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.7"])
def test_without_a_verifier_nothing_is_served_unless_that_is_asked_for(host: str):
    with pytest.raises(ConfigError, match="nobody would be let in"):
        check_door(door(host))


def test_who_listens_everywhere_says_by_which_name_it_is_known():
    with pytest.raises(ConfigError, match="every address"):
        check_door(door("0.0.0.0", auth=AUTH))
    check_door(door("0.0.0.0", auth=AUTH, url="https://tools.example/mcp"))
    check_door(door("192.0.2.7", auth=AUTH))


async def test_no_app_is_made_for_a_door_that_lets_in_anybody():
    async with running() as runtime:
        with pytest.raises(ConfigError):
            gateway_of(runtime, door("0.0.0.0", dev=True))


@pytest.mark.parametrize(
    ("where", "url"),
    [
        (door(), "http://127.0.0.1:8470/mcp"),
        (door("::1"), "http://[::1]:8470/mcp"),
        (door(url="https://tools.example/mcp"), "https://tools.example/mcp"),
    ],
)
def test_it_is_known_by_its_address(where: Door, url: str):
    assert where.known_as == url


def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = Door(GatewaySettings("127.0.0.1", taken.getsockname()[1]))
        with pytest.raises(ConfigError, match="in use"):
            listen(at)
    with listen(Door(GatewaySettings("127.0.0.1", free_port()))) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_that_nothing_here_reads_http_is_told_before_anything_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serve, "NEEDS", "no_such_package_anywhere")
    with pytest.raises(ConfigError, match="no_such_package_anywhere") as told:
        listen(Door(GatewaySettings("127.0.0.1", free_port())))
    assert "bascule[gateway]" in told.value.fix
