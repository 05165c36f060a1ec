"""Fence where rows of runtimes are gone, or an older copy of the database has taken over."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity import fence as module
from bascule.sensitivity.fence import PATIENCE, Fence, Sightings
from bascule.store.levels.interface import Laggards
from support.fences import ALICE, Clock, Member
from support.level_stores import Place, Statements, place_at, statements_at
from support.waiting import fail_after, until

BOB = Principal("bob", "s-1")
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


@pytest.fixture
def statements(store_address: str | None, tmp_path: Path) -> Statements:
    return statements_at(store_address, tmp_path)


async def opened(place: Place, clock: Clock, count: int = 2) -> list[Member]:
    members = [Member(await place.open(), clock) for _ in range(count)]
    for member in members:
        await member.fence.open()
    # Each has polled since the last one registered.
    for member in members:
        await member.fence.renew()
    return members


async def closed(members: Iterable[Member]) -> None:
    for member in members:
        await member.fence.close()


async def waits(settling: "asyncio.Task[str]") -> bool:
    """Several rounds of a raise that waits."""
    await asyncio.wait((settling,), timeout=0.2)
    return not settling.done()


async def test_a_raise_waits_for_a_runtime_whose_row_is_gone(
    place: Place, clock: Clock, untended: None, statements: Statements
):
    raiser, other = members = await opened(place, clock)
    statements("DELETE FROM bascule.runtimes WHERE id = %s", other.id)
    settling = asyncio.create_task(raiser.fence.settle(await raiser.raise_level()))
    assert await waits(settling)
    assert other.fence.lease.valid()

    await other.fence.renew()
    assert [record.level for record in other.seen] == [SECRET]
    async with fail_after(20, "the raise"):
        assert await settling == "1 other runtimes acknowledged"
    await closed(members)


async def test_a_runtime_that_starts_waits_for_those_that_were_there_before(
    place: Place, clock: Clock, untended: None, statements: Statements
):
    other, raiser = Member(await place.open(), clock), Member(await place.open(), clock)
    await other.fence.open()
    await raiser.fence.open()
    statements("DELETE FROM bascule.runtimes WHERE id = %s", other.id)
    settling = asyncio.create_task(raiser.fence.settle(await raiser.raise_level()))

    assert await waits(settling)
    await other.fence.renew()
    async with fail_after(20, "the raise"):
        assert await settling == "1 other runtimes acknowledged"
    await closed((other, raiser))


async def test_a_runtime_that_starts_is_seen_by_the_others_at_once(
    place: Place, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "INTERVAL", 1000.0)
    raiser, other = Member(await place.open(), clock), Member(await place.open(), clock)
    await raiser.fence.open()
    await other.fence.open()
    nothing = Laggards(frozenset(), frozenset(), found=True)

    await until(lambda: other.id in raiser.fence._sightings.missing(nothing))
    await closed((raiser, other))


async def test_a_raise_waits_for_the_lease_of_a_runtime_whose_row_is_gone_and_then_no_more(
    place: Place, clock: Clock, untended: None, statements: Statements
):
    raiser, other = members = await opened(place, clock)
    statements("DELETE FROM bascule.runtimes WHERE id = %s", other.id)
    settling = asyncio.create_task(raiser.fence.settle(await raiser.raise_level(CONFIDENTIAL)))
    assert await waits(settling)
    clock.now += PATIENCE

    async with fail_after(20, "the raise"):
        assert await settling == "the leases of 1 have run out"
        assert not other.fence.lease.valid()
        assert await raiser.fence.settle(await raiser.raise_level()) == "no other runtime had to be waited for"
    await closed(members)


async def test_a_raise_waits_for_all_leases_where_the_rows_of_all_are_gone(
    place: Place, clock: Clock, untended: None, statements: Statements
):
    """Also for a runtime that the raising one has never seen."""
    (raiser,) = await opened(place, clock, 1)
    other = Member(await place.open(), clock)
    await other.fence.open()
    statements("DELETE FROM bascule.runtimes")
    settling = asyncio.create_task(raiser.fence.settle(await raiser.raise_level()))
    assert await waits(settling)
    clock.now += PATIENCE

    async with fail_after(20, "the raise"):
        assert await settling == "this runtime was not registered, so all leases were waited for"
    assert not other.fence.lease.valid()
    await closed((raiser, other))


async def test_a_raise_waits_for_all_leases_after_its_runtime_has_registered_again(
    place: Place, clock: Clock, untended: None, statements: Statements
):
    (raiser,) = await opened(place, clock, 1)
    other = Member(await place.open(), clock)
    await other.fence.open()
    statements("DELETE FROM bascule.runtimes")
    await raiser.fence.renew()
    settling = asyncio.create_task(raiser.fence.settle(await raiser.raise_level(CONFIDENTIAL)))
    assert await waits(settling)
    clock.now += PATIENCE

    async with fail_after(20, "the raise"):
        assert await settling == "this runtime was not registered, so all leases were waited for"
    assert not other.fence.lease.valid()
    assert await raiser.fence.settle(await raiser.raise_level()) == "no other runtime had to be waited for"
    await closed((raiser, other))


async def test_a_runtime_that_left_is_not_remembered(place: Place, clock: Clock, untended: None):
    raiser, other = await opened(place, clock)
    await other.fence.close()

    assert await raiser.fence.settle(await raiser.raise_level()) == "no other runtime had to be waited for"
    await raiser.fence.close()


async def test_a_runtime_without_its_row_has_no_lease_until_it_has_applied_all_records(
    place: Place, clock: Clock, untended: None, statements: Statements, monkeypatch: pytest.MonkeyPatch
):
    raiser, other = members = await opened(place, clock)
    await raiser.store.begin(BOB, 1.0)
    statements("DELETE FROM bascule.runtimes WHERE id = %s", other.id)
    leases: list[bool] = []
    register = other.store.register

    async def noted(*values: Any) -> Any:
        leases.append(other.fence.lease.valid())
        return await register(*values)

    monkeypatch.setattr(other.store, "register", noted)
    await other.fence.renew()

    assert (leases, other.unsettled) == ([False], 1)
    assert [record.principal for record in other.seen] == [BOB]
    assert other.fence.lease.valid()
    await closed(members)


async def test_a_raise_while_a_runtime_registers_again_waits_for_it(
    place: Place, clock: Clock, untended: None, statements: Statements, monkeypatch: pytest.MonkeyPatch
):
    """Its row states what it has applied, and not the last change."""
    raiser, other = members = await opened(place, clock)
    statements("DELETE FROM bascule.runtimes WHERE id = %s", other.id)
    register, lags = other.store.register, list[bool]()

    async def late(*values: Any) -> Any:
        receipt = await raiser.raise_level()
        registered = await register(*values)
        lags.append(await other.lags(receipt))
        return registered

    monkeypatch.setattr(other.store, "register", late)
    await other.fence.renew()

    assert lags == [True]
    assert [record.level for record in other.seen] == [SECRET]
    assert not await other.lags((await raiser.store.receipts())[-1])
    await closed(members)


async def test_a_change_that_the_store_has_lost_is_an_error(
    place: Place, clock: Clock, untended: None, statements: Statements
):
    raiser, other = members = await opened(place, clock)
    receipt = await raiser.raise_level()
    settling = asyncio.create_task(raiser.fence.settle(receipt))
    assert await waits(settling)
    statements("DELETE FROM bascule.receipts")

    async with fail_after(20, "the raise"):
        with pytest.raises(StoreError, match="has lost this change") as caught:
            await settling
    assert caught.value.evidence == f"receipt {receipt.number} is gone, or another one"
    assert other.seen == []
    await closed(members)


FORGET_NUMBERS = {
    False: "SELECT setval(pg_get_serial_sequence('bascule.receipts', 'number'), %s)",
    True: "UPDATE sqlite_sequence SET seq = %s WHERE name = 'receipts'",
}


async def test_after_an_older_copy_of_the_receipts_all_records_are_applied(
    place: Place, clock: Clock, untended: None, statements: Statements, store_address: str | None
):
    """The number of the last receipt is the same again."""
    raiser, other = members = await opened(place, clock)
    for level in (CONFIDENTIAL, SECRET):
        await raiser.raise_level(level, BOB)
    await other.fence.renew()
    last = (await raiser.store.receipts())[-1].number
    statements("DELETE FROM bascule.receipts WHERE number = %s", last)
    statements(FORGET_NUMBERS[store_address is None], last - 1)
    other.seen.clear()
    assert (await raiser.raise_level()).number == last
    await other.fence.renew()

    assert {record.principal: record.level for record in other.seen} == {ALICE: SECRET, BOB: SECRET}
    assert other.fence.lease.valid()
    await closed(members)


def found(*, lagging: Iterable[str] = (), settled: Iterable[str] = ()) -> Laggards:
    return Laggards(frozenset(lagging), frozenset(settled), found=True)


def test_sightings_last_until_no_lease_of_before_a_poll_is_valid():
    """The runtime may have polled until just before the poll that found it gone, however long the poll before is ago."""
    sightings = Sightings()
    sightings.add(("one", "two"), 10.0, 10.1)
    sightings.add(("two",), 19.0, 20.0)
    sightings.add(("two",), 21.0, 19.9 + PATIENCE)
    assert sightings.missing(found(lagging=("three",), settled=("two",))) == {"one", "three"}

    sightings.add(("two",), 21.5, 20.0 + PATIENCE)
    assert sightings.missing(found()) == {"two"}


def test_a_runtime_that_is_registered_again_is_not_forgotten():
    sightings = Sightings()
    sightings.add(("one",), 10.0, 10.1)
    sightings.add((), 11.0, 11.1)
    sightings.add(("one",), 12.0, 12.1)
    sightings.add(("one",), 20.0, 20.1)

    assert sightings.missing(found()) == {"one"}


def test_a_runtime_that_was_given_up_is_seen_again_only_by_a_later_poll():
    sightings = Sightings()
    sightings.add(("one",), 10.0, 10.1)
    sightings.give_up(("one",), 12.0)
    sightings.add(("one",), 11.9, 12.1)
    assert sightings.missing(found()) == set()

    sightings.add(("one",), 12.1, 12.2)
    assert sightings.missing(found()) == {"one"}
