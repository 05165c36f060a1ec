"""What every transport promises about leave to write, in both eras: without it, nothing at all is handed over."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress

import pytest
import pytest_asyncio

from bascule.core.errors import ConnectFailed, LaneClosed, PermitLost
from bascule.core.request import Request
from bascule.runtime.server_requests.roots import ROOTS_CHANGED
from bascule.upstream.link import Link
from bascule.upstream.state import LinkState
from contracts.harness import NATIVE_CELLS, SDK_CELLS, Cell, Peer, a_call, link_to, peer_of
from support.handed_over import HandedOver, handed_over
from support.streams import Leave
from support.waiting import fail_after, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

BEAT = 0.05
"""Seconds between heartbeats, so that a link has always something to say of its own."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SDK_CELLS + NATIVE_CELLS, ids=str)
async def peer(request: pytest.FixtureRequest) -> AsyncGenerator[Peer]:
    cell: Cell = request.param
    async with fail_after(300, "the contract"), peer_of(cell) as serving:
        yield serving


@pytest.fixture
def counted() -> Iterator[HandedOver]:
    with handed_over() as counting:
        yield counting


def sending(link: Link, request: Request) -> "asyncio.Task[object]":
    return asyncio.ensure_future(asyncio.wait_for(link.send(request), None))


async def hanging(peer: Peer, link: Link, label: str, permit: Leave | None = None) -> "asyncio.Task[object]":
    """A call that the server works on and never answers."""
    call = sending(link, a_call("hang", {"label": label}, permit=permit))
    await peer.notes.until(f"hanging {label}")
    return call


async def works(link: Link) -> bool:
    result = await link.send(a_call("echo", {"message": "hi"}))
    return result["content"][0]["text"] == "hi"


async def test_without_leave_nothing_is_handed_over_and_with_it_again_the_link_works(peer: Peer, counted: HandedOver):
    leave = Leave()
    async with fail_after(90, "the life of a link"), link_to(peer, leave, interval=BEAT) as link:
        given_up = await hanging(peer, link, "given up")
        assert await works(link)

        leave.given = False
        counted.pieces.clear()
        with pytest.raises(PermitLost):
            await link.send(a_call("mark", {"label": "forbidden"}))
        # Of which the server would be told.
        given_up.cancel()
        await asyncio.wait((given_up,))
        refusals = leave.refusals + 5
        await until(lambda: leave.refusals >= refusals, 60)
        assert counted.pieces == []
        assert link.usable

        leave.given = True
        assert await works(link)
        assert counted.size > 0
    assert "marked forbidden" not in peer.notes.notes


async def test_a_notice_whose_permit_is_gone_is_not_handed_over(peer: Peer, counted: HandedOver):
    permit = Leave(given=False)
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        assert await works(link)
        counted.pieces.clear()
        with suppress(PermitLost):
            await link.notify(ROOTS_CHANGED, permit)
        await until(lambda: permit.refusals > 0)
        assert counted.pieces == []
        if peer.cell.era == "old":
            permit.given = True
            await link.notify(ROOTS_CHANGED, permit)
            await until(lambda: counted.size > 0)
        assert await works(link)


async def test_without_leave_a_link_ends_without_a_farewell(peer: Peer, counted: HandedOver):
    leave = Leave()
    async with fail_after(90, "the life of a link"), link_to(peer, leave) as link:
        call = await hanging(peer, link, "at the end")
        leave.given = False
        counted.pieces.clear()
        await link.close()
        assert counted.pieces == []
        assert link.condition.state is LinkState.CLOSED
        assert call.exception() is not None


@pytest.mark.long
async def test_without_leave_no_link_is_opened(peer: Peer, counted: HandedOver):
    leave = Leave(given=False)
    async with fail_after(90, "the life of two links"):
        with pytest.raises(ConnectFailed, match="nothing may be written") as failed:
            async with link_to(peer, leave):
                pass
        assert not failed.value.sent
        assert counted.pieces == []
        leave.given = True
        async with link_to(peer, leave) as link:
            assert await works(link)


async def test_revoking_ends_the_calls_without_a_permit_and_no_others(peer: Peer, counted: HandedOver):
    alice, bob = Leave(), Leave()
    async with fail_after(90, "the life of a link"), link_to(peer) as link:
        hers = await hanging(peer, link, "hers", alice)
        his = sending(link, a_call("meet", {"name": "revoked", "place": 0, "size": 2}, permit=bob))
        nobodys = await hanging(peer, link, "nobody's")
        nobodys.add_done_callback(lambda ended: ended.exception())
        alice.given = False
        counted.pieces.clear()

        assert link.revoke("the level was raised")

        with pytest.raises(LaneClosed, match="the level was raised") as closed:
            await hers
        assert closed.value.sent
        assert counted.pieces == []
        assert link.usable
        await link.send(a_call("meet", {"name": "revoked", "place": 1, "size": 2}, permit=bob))
        assert await his
        assert not nobodys.done()


async def test_a_severed_link_writes_nothing_from_that_step_on(peer: Peer, counted: HandedOver):
    async with fail_after(90, "the life of a link"), link_to(peer, interval=BEAT) as link:
        call = await hanging(peer, link, "severed")
        counted.pieces.clear()

        link.sever("the level was raised")

        assert not link.usable
        with pytest.raises(LaneClosed, match="the level was raised"):
            await call
        await link.close()
        assert counted.pieces == []
        assert (link.condition.state, link.condition.reason) == (LinkState.CLOSED, "the level was raised")


async def test_a_link_severed_while_it_opens_writes_nothing_from_that_step_on(peer: Peer, counted: HandedOver):
    """At whatever step: what is being made by then must not come to life."""
    async with fail_after(120, "the life of many links"):
        for steps in (0, 1, 2, 3, 5, 8, 13, 21, 34):
            async with link_to(peer, unopened=True) as link:
                for _ in range(steps):
                    await asyncio.sleep(0)
                link.sever("the level was raised")
                counted.pieces.clear()
                if not link.settled:
                    with pytest.raises(ConnectFailed, match="the level was raised"):
                        await link.opened()
                await link.close()
                assert counted.pieces == []
                assert link.condition.reason == "the level was raised"
