import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule.core.errors import ConnectFailed, ConnectionLost, LoginNeeded, PeerError, PeerRefused, ReplyTimeout
from bascule.core.request import Request
from bascule.upstream.negotiation import TURNED_AWAY, ProbeKilled, WayRefused, negotiate, never_answered
from bascule.upstream.settings import Agreement, Era
from bascule.wire.request_meta import CAPABILITIES_KEY, CLIENT_INFO_KEY, NEW_VERSIONS, OLD_VERSIONS, VERSION_KEY
from support.links import TERMS
from support.runtime import settled
from support.servers import methods, opened, received, stdio
from support.streams import Loopback

FOUND = {"supportedVersions": list(NEW_VERSIONS), "capabilities": {"tools": {}}}
SHAKEN = {"protocolVersion": OLD_VERSIONS[-1], "capabilities": {}, "serverInfo": {"name": "old"}}


async def agreed(name: str, *args: object, era: Era = "auto", **terms: Any) -> Agreement:
    async with opened(stdio(name, *args)) as server:
        return await negotiate(server, msgspec.structs.replace(TERMS, **terms), era)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "received"


# With real servers


async def test_a_server_of_the_new_era_is_asked_once(log: Path):
    agreement = await agreed("new", "--log", log)

    assert (agreement.version, agreement.server_info["name"]) == (NEW_VERSIONS[-1], "new")
    assert methods(log) == ["server/discover"]


async def test_a_server_of_the_old_era_refuses_the_question_and_shakes_hands(log: Path):
    agreement = await agreed("old", "--log", log)

    assert (agreement.version, agreement.server_info["name"]) == (OLD_VERSIONS[-1], "old")
    assert agreement.instructions == "Mind the gap."
    # The last may not have been written down yet when the server was ended.
    assert methods(log)[:2] == ["server/discover", "initialize"]


async def test_an_older_version_the_server_counters_with_is_accepted():
    assert (await agreed("old", "--version", "2024-11-05")).version == "2024-11-05"


async def test_a_server_that_is_silent_on_the_question_is_asked_the_old_way(log: Path):
    agreement = await agreed("old", "--unknown", "ignore", "--log", log, probe=0.05)

    assert agreement.version == OLD_VERSIONS[-1]


async def test_a_server_that_dies_of_the_question_is_told_apart():
    with pytest.raises(ProbeKilled, match="exited with code 1") as caught:
        await agreed("old", "--unknown", "die", probe=0.05)

    assert "was not understood" in caught.value.evidence


async def test_a_server_that_is_dead_on_arrival_may_have_died_of_the_question():
    with pytest.raises(ProbeKilled, match="exited with code 3") as caught:
        await agreed("failing", 3, "no API key")

    assert caught.value.evidence == "no API key"


async def test_a_slow_server_of_the_new_era_wins_though_the_handshake_was_sent(log: Path):
    agreement = await agreed("new", "--late", "found", "--log", log, probe=0.05)

    assert agreement.version == NEW_VERSIONS[-1]
    assert methods(log) == ["server/discover", "initialize"]


async def test_a_slow_server_that_has_settled_on_the_new_era_is_asked_again(log: Path):
    agreement = await agreed("new", "--late", "settled", "--log", log, probe=0.05)

    assert agreement.version == NEW_VERSIONS[-1]
    assert methods(log) == ["server/discover", "initialize", "server/discover"]


async def test_a_version_refused_with_one_we_share_is_asked_for_again(log: Path):
    agreement = await agreed("new", "--refusals", 1, "--log", log)

    assert agreement.version == NEW_VERSIONS[-1]
    assert methods(log) == ["server/discover", "server/discover"]


async def test_a_server_that_shares_no_version_with_us_is_hopeless(log: Path):
    with pytest.raises(ConnectFailed, match="share no protocol version") as caught:
        await agreed("new", "--refusals", 9, "--offers", "2099-01-01", "--log", log)

    assert "2099-01-01" in caught.value.evidence
    assert methods(log) == ["server/discover"]


async def test_a_server_that_wants_an_unknown_version_is_refused():
    with pytest.raises(ConnectFailed, match="1999-01-01"):
        await agreed("old", "--version", "1999-01-01")


async def test_the_old_era_alone_is_never_asked_the_new_way(log: Path):
    agreement = await agreed("old", "--unknown", "die", "--log", log, era="old")

    assert agreement.version == OLD_VERSIONS[-1]
    assert methods(log)[0] == "initialize"


async def test_the_new_era_alone_is_never_asked_the_old_way(log: Path):
    with pytest.raises(ConnectFailed, match="does not offer the new era") as caught:
        await agreed("old", "--log", log, era="new")

    assert "era: auto" in caught.value.fix
    assert methods(log) == ["server/discover"]
    assert (await agreed("new", era="new")).version == NEW_VERSIONS[-1]


# Step by step


class Peer(Loopback):
    """A dispatcher whose peer is the test, and which notes what was adopted."""

    def __init__(self) -> None:
        super().__init__()
        self.adopted: list[str] = []

    def adopt(self, version: str) -> None:
        self.adopted.append(version)

    @property
    def asked(self) -> list[str]:
        return [message["method"] for message in self.sent]

    def refuse(self, request_id: int, code: int, data: Any = None) -> None:
        error = {"code": code, "message": "no", "data": data}
        self.say({"jsonrpc": "2.0", "id": request_id, "error": error})


async def negotiating(peer: Peer, count: int = 1, era: Era = "auto", **terms: Any) -> "asyncio.Task[Agreement]":
    """A negotiation that has sent so many messages."""
    task = asyncio.create_task(negotiate(peer, msgspec.structs.replace(TERMS, **terms), era))
    await peer.until_sent(count)
    return task


async def test_the_question_carries_the_new_eras_envelope():
    peer = Peer()
    task = await negotiating(peer, client_info={"name": "us"}, capabilities={"elicitation": {}})
    meta = peer.sent[0]["params"]["_meta"]
    peer.answer(1, **FOUND)
    await task

    assert meta == {VERSION_KEY: "2026-07-28", CLIENT_INFO_KEY: {"name": "us"}, CAPABILITIES_KEY: {"elicitation": {}}}
    assert peer.adopted == ["2026-07-28"]


async def test_the_handshake_is_finished_after_the_version_was_adopted():
    peer = Peer()
    task = await negotiating(peer, era="old", client_info={"name": "us"})
    assert peer.sent[0]["params"] == {
        "protocolVersion": OLD_VERSIONS[-1],
        "capabilities": {},
        "clientInfo": {"name": "us"},
    }
    peer.answer(1, **SHAKEN)
    await task

    assert peer.adopted == [OLD_VERSIONS[-1]]
    assert peer.asked == ["initialize", "notifications/initialized"]


async def test_an_answer_that_is_no_evidence_leads_to_the_handshake():
    peer = Peer()
    task = await negotiating(peer)
    peer.answer(1, supportedVersions=["2099-01-01"])
    await peer.until_sent(2)
    peer.answer(2, **SHAKEN)

    assert (await task).version == OLD_VERSIONS[-1]


async def test_a_refused_version_with_only_old_ones_named_leads_to_the_handshake():
    peer = Peer()
    task = await negotiating(peer)
    peer.refuse(1, -32022, {"supported": ["2025-11-25"]})
    await peer.until_sent(2)
    peer.answer(2, **SHAKEN)

    assert (await task).version == OLD_VERSIONS[-1]


@pytest.mark.parametrize("code", [-32020, -32021])
async def test_a_refusal_only_the_new_era_knows_never_leads_to_the_handshake(code: int):
    peer = Peer()
    task = await negotiating(peer)
    peer.refuse(1, code)

    with pytest.raises(ConnectFailed, match="refused to be asked") as caught:
        await task
    assert str(code) in caught.value.evidence
    assert peer.asked == ["server/discover"]


async def test_a_late_refusal_of_the_question_does_not_disturb_the_handshake():
    peer = Peer()
    task = await negotiating(peer, 2, probe=0.01)
    peer.refuse(1, -32601)
    await asyncio.sleep(0)
    peer.answer(2, **SHAKEN)

    assert (await task).version == OLD_VERSIONS[-1]


async def test_a_late_discovery_wins_over_a_handshake_without_an_answer():
    peer = Peer()
    task = await negotiating(peer, 2, probe=0.01)
    peer.answer(1, **FOUND)

    assert (await task).version == NEW_VERSIONS[-1]
    peer.answer(2, **SHAKEN)
    await asyncio.sleep(0)
    assert peer.adopted == [NEW_VERSIONS[-1]]
    assert peer.asked == ["server/discover", "initialize"]


async def test_a_late_discovery_wins_over_a_refused_handshake_of_the_same_moment():
    peer = Peer()
    task = await negotiating(peer, 2, probe=0.01)
    peer.answer(1, **FOUND)
    peer.refuse(2, -32601)

    assert (await task).version == NEW_VERSIONS[-1]


async def test_an_answered_handshake_decides_though_the_question_is_still_open():
    peer = Peer()
    task = await negotiating(peer, 2, probe=0.01)
    peer.answer(2, **SHAKEN)

    assert (await task).version == OLD_VERSIONS[-1]
    assert "notifications/cancelled" not in peer.asked


async def test_giving_up_cancels_nothing_on_the_wire():
    peer = Peer()
    task = await negotiating(peer, 2, probe=0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)

    assert peer.asked == ["server/discover", "initialize"]


async def test_a_refused_handshake_says_what_the_server_said():
    peer = Peer()
    task = await negotiating(peer, era="auto")
    peer.refuse(1, -32601)
    await peer.until_sent(2)
    peer.refuse(2, -32600)

    with pytest.raises(ConnectFailed, match="refused to start a session: no") as caught:
        await task
    assert "-32600" in caught.value.evidence


async def test_a_handshake_that_is_never_answered_names_its_limit():
    with pytest.raises(ReplyTimeout, match=r"did not answer within 0\.01 s") as caught:
        await negotiate(Peer(), msgspec.structs.replace(TERMS, connect=0.01), "old")

    assert caught.value.phase == "connect"
    assert "timeouts.connect" in caught.value.fix


async def test_a_link_lost_at_a_handshake_that_was_asked_for_is_just_lost():
    peer = Peer()
    task = await negotiating(peer, era="old")
    peer.lose(ConnectionLost("gone"))

    with pytest.raises(ConnectionLost) as caught:
        await task
    assert not isinstance(caught.value, ProbeKilled)


@pytest.mark.parametrize("error", [LoginNeeded("who are you"), ConnectFailed("nobody there")], ids=repr)
async def test_who_we_are_and_whether_anyone_is_there_says_nothing_of_the_era(error: PeerError):
    class Closed(Peer):
        async def send(self, request: Request) -> dict[str, Any]:
            self.written.append(b'{"method": "%s"}\n' % request.method.encode())
            raise error

    peer = Closed()
    with pytest.raises(type(error)):
        await negotiate(peer, TERMS, "auto")
    assert peer.asked == ["server/discover"]


async def test_a_probe_that_fails_otherwise_leads_to_the_handshake():
    class Odd(Peer):
        async def send(self, request: Request) -> dict[str, Any]:
            if request.method == "server/discover":
                raise PeerRefused("what", rpc_code=-32700)
            return SHAKEN

    assert (await negotiate(Odd(), TERMS, "auto")).version == OLD_VERSIONS[-1]


async def test_every_message_a_real_server_got_is_well_formed(log: Path):
    await agreed("old", "--log", log)

    assert all(message.get("jsonrpc") == "2.0" for message in received(log) if "pid" not in message)


# Turned away by HTTP itself


class Turning(Loopback):
    """Refuses everything in the same way, as an HTTP server does that does not know us."""

    def __init__(self, status: int, rpc_code: int = 0) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._refusal = PeerRefused("no", rpc_code=rpc_code, status=status, fix="check the path")

    async def send(self, request: Request) -> dict[str, Any]:
        self.asked.append(request.method)
        raise self._refusal


@pytest.mark.parametrize("status", sorted(TURNED_AWAY))
@pytest.mark.parametrize(("era", "asked"), [("auto", ["server/discover", "initialize"]), ("old", ["initialize"])])
async def test_a_handshake_turned_away_by_http_alone_is_told_apart(status: int, era: Era, asked: list[str]):
    peer = Turning(status)
    with pytest.raises(WayRefused) as caught:
        await negotiate(peer, TERMS, era)

    assert peer.asked == asked
    assert f"HTTP {status}" in caught.value.evidence
    assert caught.value.fix == "check the path"


@pytest.mark.parametrize(("status", "rpc_code"), [(400, -32600), (404, -32601), (500, 0), (406, 0), (429, 0)])
@pytest.mark.parametrize("era", ["auto", "old"])
async def test_a_refusal_in_the_words_of_the_protocol_or_with_another_status_is_none(
    status: int, rpc_code: int, era: Era
):
    with pytest.raises(ConnectFailed) as caught:
        await negotiate(Turning(status, rpc_code), TERMS, era)

    assert not isinstance(caught.value, WayRefused)


async def test_who_wants_the_new_era_alone_is_led_nowhere_else():
    with pytest.raises(ConnectFailed) as caught:
        await negotiate(Turning(404), TERMS, "new")

    assert not isinstance(caught.value, WayRefused)


async def test_a_silent_child_may_be_one_that_wants_lengths_and_a_silent_url_is_not():
    child, remote = never_answered("stdio", 5.0), never_answered("http", 5.0)
    assert never_answered("docker exec", 5.0).fix == child.fix

    assert "Content-Length" in child.cause
    assert (remote.cause, "URL" in remote.fix, "command" in remote.fix) == ("", True, False)


async def test_a_handshake_refused_in_the_new_eras_words_leaves_the_decision_to_the_question():
    peer = Peer()
    task = await negotiating(peer, 2, probe=0.01)
    peer.refuse(2, -32020)
    await settled()
    assert not task.done()
    peer.answer(1, **FOUND)

    assert (await task).version == NEW_VERSIONS[-1]
