"""Links that die come back by themselves, never too many at once, and in the end they are left alone."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, ConnectionLost, PoolTimeout
from bascule.core.request import Request
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link, LinkPlan
from bascule.upstream.pool import Pool
from bascule.upstream.state import LinkState
from support.links import ALICE, BOB, a_key, a_plan
from support.puppets import Puppet, Strings
from support.virtual_time import in_virtual_time

KEY = a_key("a")
CALL = Request("tools/call", {"name": "act"}, 30.0)


def pool_of(strings: Strings, most: int = 10, **terms: Any) -> Pool:
    def plan(key: LinkKey) -> LinkPlan:
        return a_plan(strings.dial, key, **terms)

    return Pool(plan, lambda _: None, most=most, starting=10, chance=lambda: 0.5)


async def use(pool: Pool, key: LinkKey = KEY) -> None:
    link = pool.borrow(key) or await pool.lease(key)
    try:
        await link.send(CALL)
    finally:
        pool.give_back(link)


def now() -> float:
    return asyncio.get_running_loop().time()


async def attempts(strings: Strings, seconds: float, step: float = 0.25) -> list[float]:
    """When connections were tried, counted from here."""
    began, seen, found = now(), len(strings.connections), list[float]()
    while now() - began < seconds:
        await asyncio.sleep(step)
        found += [now() - began] * (len(strings.connections) - seen)
        seen = len(strings.connections)
    return found


def in_time(body: Callable[[], Any]) -> None:
    in_virtual_time(body())


def test_a_link_that_died_is_opened_again_though_nobody_asks():
    async def body() -> None:
        strings = Strings()
        pool = pool_of(strings)
        await use(pool)
        strings.connections[0].die()

        assert await attempts(strings, 60) == pytest.approx([2], abs=0.5)
        link = pool.find(KEY)
        assert link is not None
        assert link.usable
        await pool.close()

    in_time(body)


def test_one_that_stays_away_is_tried_with_growing_waits_and_then_left_alone_until_someone_asks():
    async def body() -> None:
        strings = Strings()
        pool = pool_of(strings)
        await use(pool)
        strings.up = False
        strings.connections[0].die()
        tried = await attempts(strings, 300)

        assert tried == pytest.approx([2, 6, 14, 30, 62], abs=0.5)
        with pytest.raises(ConnectFailed, match=r"it is down$"):
            await use(pool)
        assert len(strings.connections) == 7
        assert await attempts(strings, 300) == []
        strings.up = True
        await use(pool)
        await pool.close()

    in_time(body)


def test_those_who_ask_after_a_failure_wait_a_little_and_share_the_next_attempt():
    async def body() -> None:
        strings = Strings()
        pool = pool_of(strings)
        await use(pool)
        strings.up = False
        strings.connections[0].die()
        await asyncio.sleep(0)
        with pytest.raises(ConnectFailed, match=r"it is down$"):
            await use(pool)  # at once: it could be opened before
        tried = len(strings.connections)
        strings.up, asked = True, now()
        await asyncio.gather(*(use(pool) for _ in range(5)))

        assert now() - asked == pytest.approx(2)
        assert len(strings.connections) == tried + 1
        await pool.close()

    in_time(body)


def test_nobody_waits_long_for_an_attempt():
    async def body() -> None:
        strings = Strings()
        pool = pool_of(strings, backoff=40.0, reconnect=15.0)
        await use(pool)
        strings.up = False
        strings.connections[0].die()
        with pytest.raises(ConnectFailed, match=r"it is down$"):
            await use(pool)
        asked = now()
        with pytest.raises(ConnectFailed, match=r"it is down; it is tried again in 40\.0 s"):
            await use(pool)

        assert now() == asked
        await pool.close()

    in_time(body)


def test_one_that_was_never_ready_is_tried_again_only_if_it_is_to_be_kept():
    async def body() -> None:
        strings = Strings(up=False)
        pool = pool_of(strings)
        pool.keep(a_key("kept"))
        for key in (KEY, a_key("kept")):
            with pytest.raises(ConnectFailed):
                await use(pool, key)
        seen = len(strings.connections)
        await attempts(strings, 300)

        assert len(strings.connections) - seen == 5
        await pool.close()

    in_time(body)


def test_what_we_closed_ourselves_stays_closed():
    async def body() -> None:
        strings = Strings()
        pool = pool_of(strings)
        await use(pool)
        await pool.close([KEY])

        assert await attempts(strings, 300) == []
        await use(pool)
        strings.connections[-1].die()
        await pool.close([KEY])
        assert await attempts(strings, 300) == []
        await pool.close()

    in_time(body)


def test_never_more_than_the_bound_under_ten_times_the_demand_and_in_turn():
    async def body() -> None:
        strings = Strings(delay=0.1, ending=0.3, connecting=0.2)
        opened: list[str] = []

        def plan(key: LinkKey) -> LinkPlan:
            def dial() -> Puppet:
                opened.append(key.server)
                return strings.dial()

            return a_plan(dial, key)

        pool = Pool(plan, lambda _: None, most=4, starting=10)
        names = [f"s{number:02}" for number in range(40)]
        await asyncio.gather(*(use(pool, a_key(name)) for name in names))

        assert strings.most == 4
        assert opened == names
        await pool.close()

    in_time(body)


def test_waiting_for_a_place_ends_typed():
    async def body() -> None:
        strings = Strings(delay=1000)
        pool = pool_of(strings, most=1, reconnect=15.0)
        busy = asyncio.create_task(use(pool))
        await asyncio.sleep(1)
        began = now()
        with pytest.raises(PoolTimeout, match="no link to b was free within 15 s: all 1 are in use"):
            await use(pool, a_key("b"))

        assert now() - began == pytest.approx(15)
        busy.cancel()
        await asyncio.sleep(0)
        await use_quickly(pool, strings)
        await pool.close()

    async def use_quickly(pool: Pool, strings: Strings) -> None:
        strings.delay = 0
        await use(pool, a_key("b"))

    in_time(body)


def test_a_waiter_or_an_opening_that_is_given_up_loses_no_place():
    async def body() -> None:
        strings = Strings(connecting=1.0)
        pool = pool_of(strings, most=1)
        for _ in range(20):
            tasks = [asyncio.create_task(use(pool, a_key(name))) for name in "abc"]
            await asyncio.sleep(0.5)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await use(pool, a_key("d"))

        assert strings.most == 1
        await pool.close()

    in_time(body)


def test_a_link_for_one_call_serves_one_call():
    async def body() -> None:
        strings = Strings(delay=1)
        pool = pool_of(strings, lifetime="call")
        await asyncio.gather(*(use(pool) for _ in range(5)))
        await asyncio.sleep(1)

        assert len(strings.connections) == 5
        assert strings.living == []
        assert pool.borrow(KEY) is None
        link = pool.find(KEY)
        assert link is not None
        assert (link.condition.state, link.condition.reason) == (LinkState.CLOSED, "its call has ended")
        strings.connections[-1].die()
        assert await attempts(strings, 100) == []
        await pool.close()

    in_time(body)


def test_two_principals_never_have_the_same_link():
    async def body() -> None:
        strings = Strings(delay=0.1)
        pool = pool_of(strings, most=2)
        seen: dict[Link, set[str]] = {}

        async def one(number: int) -> None:
            who = (ALICE, BOB)[number % 2]
            link = pool.borrow(a_key("a", principal=who)) or await pool.lease(a_key("a", principal=who))
            seen.setdefault(link, set()).add(who.user_id)
            assert link.key.principal == who
            try:
                await link.send(CALL)
            except ConnectionLost:
                return
            finally:
                pool.give_back(link)
            if number % 7 == 0:
                strings.living[0].die()

        for number in range(0, 400, 8):
            await asyncio.gather(*(one(number + offset) for offset in range(8)))

        assert all(len(who) == 1 for who in seen.values())
        await pool.close()

    in_time(body)


def test_after_closing_nobody_waits_and_nothing_comes_back():
    async def body() -> None:
        strings = Strings(delay=1000)
        pool = pool_of(strings, most=1)
        busy, waiting = asyncio.create_task(use(pool)), asyncio.create_task(use(pool, a_key("b")))
        await asyncio.sleep(1)
        await pool.close()

        for task in (busy, waiting):
            with pytest.raises(ConnectionLost):
                await task
        assert await attempts(strings, 300) == []
        with pytest.raises(ConnectionLost, match="the runtime is closed"):
            await use(pool)

    in_time(body)


@pytest.mark.long
def test_a_crowd_that_waits_for_servers_that_are_removed_is_refused():
    async def body() -> None:
        strings, there = Strings(), {"a", *(f"s{number}" for number in range(1000))}

        def plan(key: LinkKey) -> LinkPlan:
            if key.server not in there:
                raise ConnectFailed("it was removed")
            return a_plan(strings.dial, key)

        pool = Pool(plan, lambda _: None, most=1, starting=10)
        link = await pool.lease(KEY)
        crowd = [asyncio.create_task(pool.lease(a_key(name))) for name in there - {"a"}]
        await asyncio.sleep(0)
        there.intersection_update("a")
        pool.give_back(link)

        refused = await asyncio.gather(*crowd, return_exceptions=True)
        assert {str(error) for error in refused} == {"it was removed"}
        await use(pool)
        await pool.close()

    in_time(body)


CALLS = 500
"""In `make test`. The tenfold is for `make soak`."""


class Crowd:
    """Many who call at once, while links break."""

    def __init__(self, seed: int, calls: int) -> None:
        self.chance = random.Random(seed)
        self.strings = Strings(delay=0.05, connecting=0.1, ending=0.2)
        self.pool = pool_of(self.strings, most=3, backoff=0.1)
        self.broken: set[Puppet] = set()
        self.outcomes = Counter[str]()
        self._numbers, self._calls = count(), calls

    async def call_on_and_on(self) -> None:
        while next(self._numbers) < self._calls:
            key = a_key(f"s{self.chance.randrange(5)}", principal=self.chance.choice((ALICE, BOB)))
            try:
                link = self.pool.borrow(key) or await self.pool.lease(key)
            except (ConnectFailed, ConnectionLost, PoolTimeout) as error:
                self.outcomes[type(error).__name__] += 1
            else:
                await self._use(link)

    async def _use(self, link: Link) -> None:
        assert link._dispatcher not in self.broken, "it was lent after it broke"
        try:
            await link.send(CALL)
            self.outcomes["result"] += 1
        except ConnectionLost:
            self.outcomes["lost"] += 1
        finally:
            self.pool.give_back(link)

    async def break_one(self) -> None:
        await asyncio.sleep(self.chance.random() / 10)
        self.strings.up = self.chance.random() < 0.9
        for puppet in self.strings.living[:1]:
            self.broken.add(puppet)
            puppet.die()


def test_a_broken_link_is_never_lent_again(seed: int, scale: int, tell: Callable[[str], None]):
    async def body() -> Crowd:
        crowd = Crowd(seed, CALLS * scale)
        callers = [asyncio.create_task(crowd.call_on_and_on()) for _ in range(32)]
        while not all(task.done() for task in callers):
            await crowd.break_one()
        await asyncio.gather(*callers)
        await crowd.pool.close()
        return crowd

    crowd = in_virtual_time(body())
    outcomes, most = crowd.outcomes, crowd.strings.most
    tell(
        f"seed {seed}: {outcomes.total()} calls, {len(crowd.broken)} links broken, {dict(outcomes)}, {most} links at most"
    )
    assert outcomes["result"], f"seed {seed}"
    assert outcomes.total() >= CALLS * scale, f"seed {seed}"
    assert most <= 3, f"seed {seed}"
