"""What every transport promises about a message that is half written when its leave is taken back: the rest of it never
arrives."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost, LaneClosed, PeerError, PermitLost
from bascule.core.request import Permit, Request
from support.deaf import Deaf, DeafListener, deaf_peer
from support.handed_over import HandedOver, handed_over
from support.streams import Leave
from support.waiting import fail_after, until

SIZE = 12 * 1024 * 1024
"""Bytes of a message that no pipe and no socket can hold unread."""

ONE_STREAM = ("stdio", "docker exec", "ws")
"""Where all messages go one after the other, so that one which is stuck holds up the next."""

OWN_SOCKETS = ("http", "unix", "sse")
"""Where each message has a connection of its own."""

REASON = ConnectionLost("the level was raised")


@pytest.fixture
def kind() -> str:
    return "http"


@pytest.fixture
async def peer(kind: str, tmp_path: Path) -> AsyncGenerator[Deaf]:
    async with fail_after(60, "the life of a connection"), deaf_peer(kind, tmp_path) as made:
        yield made


@pytest.fixture
def counted() -> Iterator[HandedOver]:
    with handed_over() as counting:
        yield counting


def send(peer: Deaf, size: int = 1, permit: Permit | None = None) -> "asyncio.Task[Any]":
    params = {"name": "act", "arguments": {"pad": "x" * size}}
    return asyncio.create_task(peer.dispatcher.send(Request("tools/call", params, 60.0, permit=permit)))


async def half_written(peer: Deaf, counted: HandedOver, permit: Permit | None = None) -> "asyncio.Task[Any]":
    """A message of which a part has left us, and a part has not."""
    call = send(peer, SIZE, permit)
    await until(lambda: counted.size > 256 * 1024 and not call.done() and peer.taken())
    return call


@pytest.mark.parametrize("kind", ONE_STREAM + OWN_SOCKETS)
async def test_what_is_half_written_is_never_completed_once_severed(kind: str, peer: Deaf, counted: HandedOver):
    await peer.open()
    call = await half_written(peer, counted)
    waiting = send(peer)
    await asyncio.sleep(0)
    counted.pieces.clear()

    peer.dispatcher.sever(REASON)

    with pytest.raises(LaneClosed, match="the level was raised") as closed:
        await call
    assert closed.value.sent
    if kind in ONE_STREAM:
        with pytest.raises(PermitLost):
            await waiting
    else:
        with pytest.raises((LaneClosed, PermitLost)):
            await waiting
    assert await peer.received() < SIZE
    await peer.dispatcher.close(1.0)
    assert counted.pieces == []


@pytest.mark.parametrize("kind", ONE_STREAM)
async def test_a_stream_with_a_revoked_message_half_written_is_given_up(peer: Deaf, counted: HandedOver):
    alice, bob = Leave(), Leave()
    await peer.open()
    hers = await half_written(peer, counted, alice)
    his = send(peer, permit=bob)
    await asyncio.sleep(0)
    alice.given = False

    assert not peer.dispatcher.revoke(REASON)

    assert peer.dispatcher.lost.done()
    with pytest.raises(LaneClosed):
        await hers
    with pytest.raises(ConnectionLost) as lost:
        await his
    assert not lost.value.sent
    assert await peer.received() < SIZE


@pytest.mark.parametrize("kind", ONE_STREAM)
async def test_a_stream_with_another_message_half_written_goes_on(peer: Deaf, counted: HandedOver):
    alice, bob = Leave(), Leave()
    await peer.open()
    his = await half_written(peer, counted, bob)
    hers = send(peer, permit=alice)
    await asyncio.sleep(0)
    alice.given = False

    assert peer.dispatcher.revoke(REASON)

    with pytest.raises(PermitLost):
        await hers
    assert not peer.dispatcher.lost.done()
    assert not his.done()
    await peer.dispatcher.close(1.0)
    with pytest.raises(ConnectionLost):
        await his


@pytest.mark.parametrize("kind", OWN_SOCKETS)
async def test_of_messages_on_sockets_of_their_own_only_the_revoked_one_ends(peer: Deaf, counted: HandedOver):
    alice, bob = Leave(), Leave()
    await peer.open()
    hers = await half_written(peer, counted, alice)
    his = send(peer, SIZE, bob)
    before = counted.size
    await until(lambda: counted.size > before)
    alice.given = False

    assert peer.dispatcher.revoke(REASON)

    with pytest.raises(LaneClosed):
        await hers
    assert not his.done()
    assert await peer.received() < SIZE
    assert isinstance(peer, DeafListener)
    await until(lambda: peer.sizes[1] > SIZE)
    await peer.dispatcher.close(1.0)
    with pytest.raises(PeerError):
        await his


@pytest.mark.parametrize("kind", OWN_SOCKETS)
async def test_a_long_body_is_never_completed_once_leave_is_gone(peer: Deaf, counted: HandedOver):
    leave = Leave()
    peer.dispatcher.leave = leave
    await peer.open()
    call = await half_written(peer, counted)
    leave.given = False
    counted.pieces.clear()

    assert await peer.received() < SIZE

    with pytest.raises(PeerError):
        await call
    assert counted.pieces == []


@pytest.mark.parametrize("kind", ONE_STREAM)
async def test_what_waits_behind_a_full_pipe_is_refused_once_leave_is_gone(peer: Deaf, counted: HandedOver):
    leave = Leave()
    peer.dispatcher.leave = leave
    await peer.open()
    call = await half_written(peer, counted)
    waiting = send(peer)
    await asyncio.sleep(0)
    leave.given = False
    counted.pieces.clear()

    peer.listen()

    with pytest.raises(PermitLost):
        await waiting
    assert counted.pieces == []
    assert not peer.dispatcher.lost.done()
    call.cancel()


@pytest.mark.parametrize("kind", ONE_STREAM)
async def test_closed_without_leave_a_full_pipe_drops_what_it_holds(peer: Deaf, counted: HandedOver):
    leave = Leave()
    peer.dispatcher.leave = leave
    await peer.open()
    call = await half_written(peer, counted)
    leave.given = False
    counted.pieces.clear()

    closing = asyncio.create_task(peer.dispatcher.close(10.0))
    with pytest.raises(ConnectionLost):
        await call

    assert await peer.received() < SIZE
    await closing
    assert counted.pieces == []
