"""On which lanes a server can be reached, and how."""

from typing import Any

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.config.model.oauth import OAuthSettings
from bascule.config.model.sandbox import Sandbox
from bascule.config.model.transport import NativeTransport, StdioTransport, UnixSocketTransport
from bascule.core.sensitivity import DataSensitivity, Lane, is_wider, lane_for
from bascule.policy.containment import Footing
from bascule.runtime.servers.lane_links import footing, lane_of, taken_over, ways_of

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
TWIN = UnixSocketTransport("unix:///run/twin")


def a_server(name: str = "mail", **word: Any) -> ServerConfig:
    return ServerConfig(name, StreamableHttpTransport("http://127.0.0.1:9/mcp"), **word)


LOOSE = a_server()
CONFINED = a_server(isolated=TWIN)
UP_TO_CONFIDENTIAL = a_server(vouched=CONFIDENTIAL)
UP_TO_SECRET = a_server(vouched=SECRET)
NATIVE = ServerConfig("own", NativeTransport(()))
ALL = (LOOSE, CONFINED, UP_TO_CONFIDENTIAL, UP_TO_SECRET)


def test_a_footing_comes_from_the_operators_word_alone():
    assert [footing(server, boxed=False) for server in ALL] == [
        Footing.LOOSE,
        Footing.CONFINED,
        Footing.VOUCHED_CONFIDENTIAL,
        Footing.VOUCHED_SECRET,
    ]


def test_a_loose_server_has_no_lane_but_the_open_one():
    assert ways_of(LOOSE, boxed=False) == {Lane.OPEN: LOOSE}


def test_a_twin_is_another_way_to_the_server_and_nobody_logs_in_there():
    server = a_server(isolated=TWIN, oauth=OAuthSettings(client_id="us"))
    ways = ways_of(server, boxed=False)

    assert ways.keys() == {Lane.OPEN, Lane.SEALED}
    assert ways[Lane.OPEN] is server
    assert (ways[Lane.SEALED].transport, ways[Lane.SEALED].oauth) == (TWIN, OAuthSettings())
    assert ways[Lane.SEALED].name == "mail"


def test_a_server_that_is_vouched_for_is_itself_on_the_lanes_it_is_vouched_for():
    assert ways_of(UP_TO_CONFIDENTIAL, boxed=False) == dict.fromkeys((Lane.OPEN, Lane.PROXIED), UP_TO_CONFIDENTIAL)
    assert ways_of(UP_TO_SECRET, boxed=False) == dict.fromkeys(Lane, UP_TO_SECRET)


@pytest.mark.parametrize("server", ALL)
@pytest.mark.parametrize("level", DataSensitivity)
def test_no_lane_is_ever_wider_than_the_level_allows(server: ServerConfig, level: DataSensitivity):
    assert not is_wider(lane_of(server, level), lane_for(level))


def test_a_twin_serves_every_private_level_and_no_other():
    lanes = [lane_of(CONFINED, level) for level in DataSensitivity]
    assert lanes == [Lane.OPEN, Lane.OPEN, Lane.SEALED, Lane.SEALED]


def test_a_receipt_says_by_what_each_server_is_served():
    servers = {str(number): server for number, server in enumerate(ALL)}

    def told(level: DataSensitivity) -> list[str]:
        return [*taken_over(servers, level, lambda _: False).values()]

    assert told(PUBLIC) == told(INTERNAL) == []
    assert told(CONFIDENTIAL) == ["refused", "declared", "vouched", "vouched"]
    assert told(SECRET) == ["refused", "declared", "refused", "vouched"]
    assert taken_over({"a": LOOSE}, SECRET, lambda _: True) == {"a": "probed"}


def test_a_server_in_a_box_is_itself_on_every_lane_and_confined():
    assert ways_of(LOOSE, boxed=True) == dict.fromkeys(Lane, LOOSE)
    assert footing(LOOSE, boxed=True) is Footing.CONFINED
    assert [lane_of(LOOSE, level) for level in DataSensitivity] == [Lane.OPEN, Lane.OPEN, Lane.PROXIED, Lane.SEALED]


def test_functions_of_the_program_are_the_same_on_every_lane_and_native():
    assert ways_of(NATIVE, boxed=False) == dict.fromkeys(Lane, NATIVE)
    assert footing(NATIVE, boxed=False) is Footing.NATIVE
    assert [lane_of(NATIVE, level) for level in DataSensitivity] == [Lane.OPEN, Lane.OPEN, Lane.PROXIED, Lane.SEALED]
    assert taken_over({"own": NATIVE}, SECRET, lambda _: False) == {"own": "native"}


def test_a_declared_twin_that_is_a_process_is_run_as_it_was_declared():
    server = ServerConfig("mail", StdioTransport("mail"), isolated=StdioTransport("mail-twin"), sandbox=Sandbox())
    assert ways_of(server, boxed=False)[Lane.SEALED].sandbox == "none"
    elsewhere = ServerConfig("mail", StdioTransport("mail"), isolated=TWIN, sandbox=Sandbox())
    assert ways_of(elsewhere, boxed=False)[Lane.SEALED].sandbox is None
