"""Fence between runtimes on one real store, by a clock that the test moves."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost, StoreError
from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity import fence as module
from bascule.sensitivity.fence import HOLDS, PATIENCE, Fence
from bascule.store.deadline import StoreWait, current_wait
from bascule.store.levels.interface import Laggards, LevelStore, Poll, SessionRecord
from bascule.store.levels.position import Position, position_after
from support.fences import Clock, Member
from support.level_stores import Place, place_at
from support.waiting import until

CONFIDENTIAL, SECRET = DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def place(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(store_address, tmp_path) as place:
        yield place


@pytest.fixture
def untended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks unless the test does."""

    async def never(_: Fence) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Fence, "_tend", never)


async def test_a_lease_is_as_fresh_as_the_last_look(place: Place, clock: Clock, untended: None):
    member = Member(await place.open(), clock)
    assert not member.fence.lease.valid()
    await member.fence.open()
    assert member.fence.lease.valid()

    clock.now += HOLDS
    assert not member.fence.lease.valid()
    await member.fence.renew()
    assert member.fence.lease.valid()
    await member.fence.close()
    assert not member.fence.lease.valid()


async def test_a_lease_counts_from_before_the_look(place: Place, clock: Clock, untended: None):
    """A raise that became durable while the look was under way must not outlast anyone's patience."""

    class Slow(Member):
        async def follow(self, records: Iterable[SessionRecord]) -> bool:
            clock.now += HOLDS
            return True

    member = Slow(await place.open(), clock)
    await member.fence.open()
    await member.raise_level()
    clock.now += HOLDS
    await member.fence.renew()

    assert not member.fence.lease.valid()
    await member.fence.close()


async def test_a_change_is_not_acknowledged_while_something_may_run_in_what_was_closed(
    place: Place, clock: Clock, untended: None
):
    class Stuck(Member):
        async def follow(self, records: Iterable[SessionRecord]) -> bool:
            return False

    member = Stuck(await place.open(), clock)
    await member.fence.open()
    receipt = await member.raise_level()
    clock.now += HOLDS
    await member.fence.renew()

    assert await member.lags(receipt)
    assert not member.fence.lease.valid()
    await member.fence.close()


async def test_alone_nobody_is_waited_for(place: Place, clock: Clock, untended: None):
    member = Member(await place.open(), clock)
    await member.fence.open()

    assert await member.fence.settle(await member.raise_level()) == "no other runtime had to be waited for"
    await member.fence.close()


async def test_a_raise_is_over_once_the_others_have_done_what_it_asks(place: Place, clock: Clock):
    first, second = Member(await place.open(), clock), Member(await place.open(), clock)
    await first.fence.open()
    await second.fence.open()
    words = await first.fence.settle(await first.raise_level())

    assert words == "1 other runtimes acknowledged"
    assert [record.level for record in second.seen] == [SECRET]
    await first.fence.close()
    await second.fence.close()


async def test_a_silent_runtime_is_waited_for_until_it_can_no_longer_write(place: Place, clock: Clock, untended: None):
    raiser, silent = Member(await place.open(), clock), Member(await place.open(), clock)
    await raiser.fence.open()
    await silent.fence.open()
    settling = asyncio.create_task(raiser.fence.settle(await raiser.raise_level()))
    await asyncio.sleep(0.2)
    assert not settling.done()

    clock.now += PATIENCE
    assert await settling == "the leases of 1 have run out"
    assert not silent.fence.lease.valid()
    # It comes back: first it learns what it has missed, and only then may it write.
    await silent.fence.renew()
    assert [record.level for record in silent.seen] == [SECRET]
    assert silent.fence.lease.valid()
    assert (await raiser.store.laggards(Position(10**6))).lagging == {raiser.id, silent.id}
    await raiser.fence.close()
    await silent.fence.close()


async def test_who_was_given_up_while_it_looked_may_not_write_by_that_look(place: Place, clock: Clock, untended: None):
    raiser, slow = Member(await place.open(), clock), Member(await place.open(), clock)
    await raiser.fence.open()
    await slow.fence.open()
    change = position_after(await raiser.raise_level())
    acknowledge = slow.store.acknowledge
    given_up = asyncio.Event()

    async def late(runtime: str, position: Position) -> bool:
        if not given_up.is_set():
            await raiser.store.strike((runtime,), change)
            given_up.set()
        return await acknowledge(runtime, position)

    slow.store.acknowledge = late  # pyright: ignore[reportAttributeAccessIssue]
    await slow.fence._look_once(StoreWait())
    assert not slow.fence.lease.valid()
    await slow.fence.renew()
    assert slow.fence.lease.valid()
    await raiser.fence.close()
    await slow.fence.close()


async def test_one_that_acknowledged_in_the_last_moment_is_not_given_up(place: Place, clock: Clock, untended: None):
    raiser, last = Member(await place.open(), clock), Member(await place.open(), clock)
    await raiser.fence.open()
    await last.fence.open()
    change = position_after(await raiser.raise_level())
    await last.fence.renew()
    await raiser.store.strike((last.id,), change)

    assert (await last.store.poll(last.id, await last.store.position())).registered
    await raiser.fence.close()
    await last.fence.close()


async def test_a_runtime_that_ends_is_not_waited_for(place: Place, clock: Clock, untended: None):
    raiser, other = Member(await place.open(), clock), Member(await place.open(), clock)
    await raiser.fence.open()
    await other.fence.open()
    await other.fence.close()

    assert await raiser.fence.settle(await raiser.raise_level()) == "no other runtime had to be waited for"
    await raiser.fence.close()


async def test_whoever_is_no_runtime_can_wait_for_the_others_too(place: Place, clock: Clock):
    runtime, operator = Member(await place.open(), clock), Member(await place.open(), clock)
    await runtime.fence.open()
    await operator.raise_level()

    assert await operator.fence.settle() == "1 other runtimes acknowledged"
    assert [record.level for record in runtime.seen] == [SECRET]
    await runtime.fence.close()


class Failing:
    """A store that cannot be asked."""

    def __init__(self, store: LevelStore) -> None:
        self._store = store
        self.broken = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def poll(self, runtime: str, after: Position) -> Poll:
        self._check()
        return await self._store.poll(runtime, after)

    async def laggards(self, position: Position) -> Laggards:
        self._check()
        return await self._store.laggards(position)

    async def leave(self, runtime: str, at: float) -> None:
        self._check()
        await self._store.leave(runtime, at)

    def _check(self) -> None:
        if self.broken:
            raise StoreError("the disk is gone")


async def test_without_the_store_there_is_no_lease_and_time_alone_fences(
    place: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "INTERVAL", 0.01)
    store = Failing(await place.open())
    member = Member(store, clock)  # pyright: ignore[reportArgumentType]
    await member.fence.open()
    store.broken = True
    with pytest.raises(StoreError, match="the disk is gone"):
        await member.fence.renew()
    clock.now += HOLDS
    assert not member.fence.lease.valid()

    settling = asyncio.create_task(member.fence.settle())
    await asyncio.sleep(0.05)
    assert not settling.done()
    settling.cancel()
    # It is tried again and again, and works once the store does.
    store.broken = False
    await until(member.fence.lease.valid)
    store.broken = True
    await member.fence.close()


async def test_time_alone_is_waited_for_in_full(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PATIENCE", 0.3)
    store = Failing(await place.open())
    store.broken = True
    loop = asyncio.get_running_loop()
    began = loop.time()
    fence = Fence(store, Member(store, Clock()).follow)  # pyright: ignore[reportArgumentType]

    assert "all leases have run out" in await fence.settle()
    assert loop.time() - began >= 0.29


async def test_many_who_ask_look_once(place: Place, clock: Clock, untended: None):
    store = Failing(await place.open())
    looks: list[str] = []
    poll = store.poll

    async def counted(runtime: str, after: Position) -> Poll:
        looks.append(runtime)
        return await poll(runtime, after)

    store.poll = counted
    member = Member(store, clock)  # pyright: ignore[reportArgumentType]
    await member.fence.open()
    looks.clear()
    await asyncio.gather(*(member.fence.renew() for _ in range(20)))

    assert len(looks) == 1
    await member.fence.close()


async def test_after_its_end_it_looks_no_more(place: Place, clock: Clock, untended: None):
    member = Member(await place.open(), clock)
    await member.fence.open()
    await member.fence.close()
    with pytest.raises(ConnectionLost, match="is closed"):
        await member.fence.renew()

    assert not member.fence.lease.valid()


async def test_another_look_starts_after_the_one_that_is_under_way(place: Place, clock: Clock, untended: None):
    member = Member(await place.open(), clock)
    await member.fence.open()
    under_way = asyncio.create_task(member.fence.renew())
    await asyncio.sleep(0)
    clock.now += HOLDS
    await member.fence.look_again()

    assert under_way.done()
    assert member.fence.lease.until == clock.now + HOLDS
    await member.fence.close()


async def test_all_operations_of_one_look_share_one_deadline(
    place: Place, clock: Clock, untended: None, monkeypatch: pytest.MonkeyPatch
):
    member = Member(await place.open(), clock)
    await member.fence.open()
    waits: list[tuple[str, StoreWait]] = []

    def noted(name: str) -> None:
        original = getattr(member.store, name)

        async def operation(*values: Any) -> Any:
            waits.append((name, current_wait()))
            return await original(*values)

        monkeypatch.setattr(member.store, name, operation)

    for name in ("poll", "acknowledge", "register"):
        noted(name)
    await member.raise_level()
    await member.store.strike((member.id,), await member.store.position())
    await member.fence.renew()
    await member.fence.renew()

    names, shared = zip(*waits, strict=True)
    assert names == ("poll", "register", "poll", "poll")
    assert shared[0] is shared[1] is shared[2]
    assert shared[3] is not shared[0]
    await member.fence.close()
