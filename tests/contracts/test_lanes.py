"""What a pool promises when a lane is closed: its links end in that very step, and those shared lose only what is barred."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bascule.core.errors import BasculeError, ConnectFailed, LaneClosed, PermitLost, Refused
from bascule.core.request import Permit, Request
from bascule.core.sensitivity import Lane
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link, LinkPlan
from bascule.upstream.pool import Pool
from bascule.upstream.state import LinkState
from support.links import BOB, Journal, a_key, a_plan
from support.puppets import Puppet, Strings
from support.streams import Leave
from support.virtual_time import in_virtual_time
from support.waiting import fail_after

OPEN, SEALED, BOBS = a_key(), a_key(lane=Lane.SEALED), a_key(principal=BOB)
REASON = "the level was raised"


class Lanes:
    """A pool, the server behind all its links, and the keys that may be opened no more."""

    def __init__(self, most: int = 10) -> None:
        self.strings = Strings(delay=3600.0)
        self.closed: set[LinkKey] = set()
        self.journal = Journal()
        self.pool = Pool(self._plan, self.journal.note, most=most, starting=8)

    def close(self, *keys: LinkKey) -> list[Link]:
        self.closed.update(keys)
        return [link for key in keys for link in self.pool.sever(key.principal, {key.lane}, REASON)]

    def _plan(self, key: LinkKey) -> LinkPlan:
        if key in self.closed:
            raise Refused("the lane is closed", rule="lanes")
        return a_plan(self.strings.dial, key, attempts=5, backoff=1.0)


@asynccontextmanager
async def lanes(most: int = 10) -> AsyncGenerator[Lanes]:
    async with fail_after(1_000_000, "the life of a pool"):
        made = Lanes(most)
        try:
            yield made
        finally:
            await made.pool.close()


def calling(link: Link, permit: Permit | None = None) -> "asyncio.Task[object]":
    return asyncio.ensure_future(asyncio.wait_for(link.send(Request("tools/call", None, 99999.0, permit=permit)), None))


async def end_of(waiting: "asyncio.Task[object]") -> BasculeError:
    with pytest.raises(BasculeError) as caught:
        await waiting
    return caught.value


def test_links_of_a_closed_lane_end_at_once_and_others_stay():
    async def body() -> None:
        async with lanes() as made:
            links = [await made.pool.lease(key) for key in (OPEN, SEALED, BOBS)]
            call = calling(links[0])
            await asyncio.sleep(1)
            assert made.close(OPEN) == links[:1]
            assert [link.usable for link in links] == [False, True, True]
            assert made.pool.borrow(OPEN) is made.pool.find(OPEN) is None
            assert isinstance(await end_of(call), LaneClosed)
            with pytest.raises(Refused):
                await made.pool.lease(OPEN)
            await links[0].close()
            assert (links[0].condition.state, links[0].condition.reason) == (LinkState.CLOSED, REASON)

    in_virtual_time(body())


def test_a_link_of_a_closed_lane_does_not_come_back_by_itself():
    async def body() -> None:
        async with lanes() as made:
            link = await made.pool.lease(OPEN)
            made.pool.keep(OPEN)
            made.strings.connections[0].die()
            await asyncio.sleep(0.1)
            assert made.pool._timers
            # Whoever reads the plan would be refused, but nobody is to read it.
            assert made.pool.sever(OPEN.principal, {OPEN.lane}, REASON) == []
            assert not made.pool._timers
            assert link.condition.state is LinkState.FAILED
            await asyncio.sleep(3600)
            assert len(made.strings.connections) == 1

    in_virtual_time(body())


def test_who_waits_for_a_link_of_a_lane_that_is_closed_is_told_why():
    async def body() -> None:
        async with lanes() as made:
            made.strings.connecting = 10.0
            waiting = asyncio.create_task(made.pool.lease(OPEN))
            await asyncio.sleep(5)
            made.close(OPEN)
            error = await end_of(waiting)
            assert isinstance(error, ConnectFailed)
            assert (error.message, error.sent) == (REASON, False)
            await asyncio.sleep(60)
            assert made.strings.asked == []

    in_virtual_time(body())


def test_who_waits_for_room_on_a_lane_that_is_closed_is_refused():
    async def body() -> None:
        async with lanes(most=1) as made:
            first = await made.pool.lease(BOBS)
            waiting = asyncio.create_task(made.pool.lease(OPEN))
            await asyncio.sleep(1)
            made.close(OPEN)
            made.pool.give_back(first)
            assert isinstance(await end_of(waiting), Refused)

    in_virtual_time(body())


def test_on_a_shared_link_only_the_calls_without_a_permit_end():
    async def body() -> None:
        alice, bob = Leave(), Leave()
        async with lanes() as made:
            link = await made.pool.lease(OPEN)
            hers, his, nobodys = calling(link, alice), calling(link, bob), calling(link)
            await asyncio.sleep(1)
            alice.given = False
            assert made.pool.revoke(OPEN.principal, {OPEN.lane}, REASON) == []
            assert isinstance(await end_of(hers), LaneClosed)
            assert isinstance(await end_of(calling(link, alice)), PermitLost)
            assert made.pool.borrow(OPEN) is link
            assert not his.done()
            await asyncio.gather(his, nobodys)

    in_virtual_time(body())


def test_a_shared_link_that_cannot_go_on_is_told_of_and_comes_back():
    class Halved(Puppet):
        def _backlog(self) -> bool:
            return True

    async def body() -> None:
        alice = Leave()
        strings = Strings(delay=3600.0)
        plan = a_plan(lambda: Halved(strings), OPEN, attempts=5, backoff=1.0)
        pool = Pool(lambda key: replace(plan, key=key), Journal().note, most=10, starting=8)
        link = await pool.lease(OPEN)
        hers = calling(link, alice)
        await asyncio.sleep(1)
        assert pool.revoke(OPEN.principal, {OPEN.lane}, REASON) == []
        alice.given = False
        assert pool.revoke(BOBS.principal, {BOBS.lane}, REASON) == []
        assert pool.revoke(OPEN.principal, {OPEN.lane}, REASON) == [link]
        assert not link.usable
        assert isinstance(await end_of(hers), LaneClosed)
        await asyncio.sleep(60)
        assert pool.borrow(OPEN) is not None
        await pool.close()

    in_virtual_time(body())
