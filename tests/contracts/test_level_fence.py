"""What every engine that keeps levels does for the fence: who hears of a change, who has not yet, and who is woken up."""

import asyncio

import pytest

from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore
from support.level_stores import Place
from support.waiting import fail_after

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
LABEL = Cause("label", "notes", "read")


async def raised(store: LevelStore, principal: Principal = ALICE, level: DataSensitivity = CONFIDENTIAL) -> int:
    _, receipt = await store.raise_level(principal, level, LABEL, 11.0)
    assert receipt is not None
    return receipt.number


async def test_a_poll_tells_who_has_changed_since(level_store: LevelStore, level_place: Place):
    await raised(level_store, BOB)
    other = await level_place.open()
    number = await other.register("other", 11.0)
    quiet = await other.poll("other", number)
    await raised(level_store, ALICE, INTERNAL)
    last = await raised(level_store, ALICE, SECRET)
    poll = await other.poll("other", number)

    assert (quiet.number, quiet.changed, quiet.registered) == (number, (), True)
    assert poll.number == last
    assert [(each.principal, each.level) for each in poll.changed] == [(ALICE, SECRET)]
    assert (await other.poll("other", last)).changed == ()


async def test_a_poll_tells_of_an_operators_changes_too(level_store: LevelStore):
    number = await level_store.register("one", 10.0)
    await raised(level_store, ALICE)
    await raised(level_store, BOB)
    await level_store.lower_level(ALICE, PUBLIC, Cause("operator"), 12.0)
    await level_store.end_session(BOB, Cause("operator"), 12.0)

    changed = {each.principal: each for each in (await level_store.poll("one", number)).changed}
    assert changed[ALICE].level is PUBLIC
    assert changed[BOB].ended


async def test_beginning_is_no_change_that_others_hear_of(level_store: LevelStore):
    number = await level_store.register("one", 10.0)
    await level_store.begin(ALICE, 11.0)

    assert (await level_store.poll("one", number)).changed == ()


async def test_whoever_has_not_acknowledged_is_waited_for(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    await level_store.register("one", 10.0)
    await other.register("other", 10.0)
    number = await raised(level_store)

    assert await level_store.laggards(number) == {"one", "other"}
    await level_store.acknowledge("one", number)
    assert await level_store.laggards(number) == {"other"}
    await other.acknowledge("other", number)
    assert await level_store.laggards(number) == frozenset()
    assert await level_store.laggards(number + 1) == {"one", "other"}


async def test_an_older_acknowledgement_takes_nothing_back(level_store: LevelStore):
    await level_store.register("one", 10.0)
    number = await raised(level_store)
    await level_store.acknowledge("one", number)
    await level_store.acknowledge("one", number - 1)

    assert await level_store.laggards(number) == frozenset()


async def test_whoever_registers_later_is_not_waited_for(level_store: LevelStore):
    number = await raised(level_store)

    assert await level_store.register("late", 12.0) == number
    assert await level_store.laggards(number) == frozenset()


async def test_who_is_struck_is_not_waited_for_and_is_told_so(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    for runtime in ("dead", "gone", "alive"):
        await other.register(runtime, 10.0)
    number = await raised(level_store)
    await level_store.strike({"dead", "gone"})

    assert await level_store.laggards(number) == {"alive"}
    assert not (await other.poll("dead", number)).registered
    await other.acknowledge("dead", number)  # which does not bring it back
    assert not (await other.poll("dead", number)).registered
    assert await other.register("dead", 12.0) == number
    assert (await other.poll("dead", number)).registered


async def test_who_never_registered_is_told_so(level_store: LevelStore):
    assert not (await level_store.poll("nobody", 0)).registered


async def test_who_knows_of_more_changes_than_there_were_has_to_register_anew(level_store: LevelStore):
    number = await level_store.register("one", 10.0)

    assert not (await level_store.poll("one", number + 1)).registered


async def test_a_ring_wakes_every_other_runtime_up(level_store: LevelStore, level_place: Place):
    others = [await level_place.open() for _ in range(3)]
    for number, other in enumerate(others):
        await other.register(f"other-{number}", 10.0)
    waiting = [asyncio.ensure_future(other.rung()) for other in others]
    try:
        async with fail_after(20, "being woken up"):
            while not all(each.done() for each in waiting):
                level_store.ring()
                await asyncio.sleep(0.01)
    finally:
        for each in waiting:
            each.cancel()


async def test_a_ring_before_anybody_waits_is_not_lost(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    await other.register("other", 10.0)
    level_store.ring()

    async with fail_after(20, "being woken up"):
        await other.rung()


async def test_waiting_can_be_given_up_and_begun_again(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    await other.register("other", 10.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await other.rung()
    level_store.ring()

    async with fail_after(20, "being woken up"):
        await other.rung()


async def test_ringing_with_nobody_there_does_nothing(level_store: LevelStore):
    level_store.ring()
