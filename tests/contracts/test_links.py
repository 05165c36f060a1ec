"""What every transport promises about the life of a link, in both eras: one body for all of them."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bascule.config import RuntimeConfig
from bascule.core.errors import ConnectionLost, PeerRefused, PermitLost, ReplyTimeout
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.core.request import Request
from bascule.runtime.runtime import Runtime
from bascule.upstream.state import LinkState
from contracts.harness import NATIVE_CELLS, SDK_CELLS, TIMEOUTS, Cell, Peer, a_call, link_to, peer_of
from support.streams import Leave
from support.waiting import fail_after

METHOD_NOT_FOUND = -32601


@pytest.fixture(params=SDK_CELLS + NATIVE_CELLS, ids=str)
async def peer(request: pytest.FixtureRequest) -> AsyncGenerator[Peer]:
    cell: Cell = request.param
    async with peer_of(cell) as serving:
        yield serving


def runtime_with(peer: Peer, **settings: Any) -> Runtime:
    return Runtime(RuntimeConfig({"peer": peer.config}, **settings))


def kind(outcome: Outcome) -> FailureKind:
    assert isinstance(outcome, ToolFailure), outcome
    return outcome.kind


async def test_closing_fails_the_calls_in_flight_at_once(peer: Peer):
    async with fail_after(90, "the life of a runtime"), runtime_with(peer) as runtime:
        session = runtime.session("alice", "s-1")
        labels = [f"call {number}" for number in range(4)]
        calls = [asyncio.create_task(session.call("peer_hang", {"label": label})) for label in labels]
        await peer.notes.until(*(f"hanging {label}" for label in labels))
        closing = asyncio.create_task(runtime.close())
        outcomes = await asyncio.gather(*calls)
        await closing
    assert [kind(outcome) for outcome in outcomes] == [FailureKind.CONNECTION_ERROR] * 4


async def test_a_link_that_is_given_up_tells_its_calls_why_at_once(peer: Peer):
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        call = asyncio.create_task(asyncio.wait_for(link.send(a_call("hang", {"label": "call"})), None))
        await peer.notes.until("hanging call")
        link.retire("it was edited")
        assert not link.usable
        with pytest.raises(ConnectionLost, match="it was edited") as lost:
            await call
        assert lost.value.sent
        await link.close()
        assert (link.condition.state, link.condition.reason) == (LinkState.CLOSED, "it was edited")


async def test_a_link_can_be_closed_twice_and_from_any_task(peer: Peer):
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        await asyncio.gather(link.close(), link.close())
        await link.close()
        assert link.condition.state is LinkState.CLOSED
        with pytest.raises(ConnectionLost):
            await link.send(a_call("echo", {"message": "hi"}))


async def test_a_connection_can_be_closed_twice_and_before_it_was_opened(peer: Peer):
    async with fail_after(90, "the life of two connections"):
        unopened, opened = peer.dispatcher(), peer.dispatcher()
        await unopened.close(1.0)
        await opened.open()
        await asyncio.gather(opened.close(TIMEOUTS.close), opened.close(TIMEOUTS.close))
        await opened.close(TIMEOUTS.close)
        assert opened.lost.done()
        with pytest.raises(ConnectionLost) as refused:
            await opened.send(Request("tools/list", None, 5.0))
        assert not refused.value.sent


async def test_without_a_permit_nothing_is_sent(peer: Peer):
    leave = Leave()
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        leave.given = False
        with pytest.raises(PermitLost):
            await link.send(a_call("mark", {"label": "forbidden"}, permit=leave))
        leave.given = True
        await link.send(a_call("mark", {"label": "allowed"}, permit=leave))
        await peer.notes.until("marked allowed")
    assert "marked forbidden" not in peer.notes.notes


async def test_a_message_over_the_cap_is_refused_and_the_next_call_works(peer: Peer):
    async with fail_after(90, "the life of a runtime"), runtime_with(peer, message_max=64 * 1024) as runtime:
        session = runtime.session("alice", "s-1")
        failed = await session.call("peer_repeat", {"text": "x", "times": 65 * 1024})
        assert kind(failed) is FailureKind.PROTOCOL_ERROR
        again = await session.call("peer_repeat", {"text": "x", "times": 10})
        assert isinstance(again, ToolResult), again


async def test_a_method_the_server_does_not_know_is_refused_and_the_link_lives(peer: Peer):
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        with pytest.raises(PeerRefused) as refused:
            await link.send(Request("no/such/method", None, 10.0))
        assert refused.value.rpc_code == METHOD_NOT_FOUND
        result = await link.send(a_call("echo", {"message": "hi"}))
        assert result["content"][0]["text"] == "hi"


async def test_a_timeout_carries_the_name_of_its_phase(peer: Peer):
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        with pytest.raises(ReplyTimeout) as late:
            await link.send(a_call("hang", {"label": "late"}, 0.2, phase="call"))
    assert (late.value.phase, late.value.timeout) == ("call", 0.2)
