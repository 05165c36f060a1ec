"""Fence operations of every engine: polls, acknowledgements, registered runtimes and wake-up."""

import asyncio
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore
from bascule.store.levels.position import UNREADABLE, Position
from bascule.store.levels.registration import KEPT, row_of
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keys import level_key
from support.level_stores import Place, Statements, statements_at
from support.waiting import fail_after

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
LABEL = Cause("label", "notes", "read")


async def raised(store: LevelStore, principal: Principal = ALICE, level: DataSensitivity = CONFIDENTIAL) -> Position:
    _, receipt = await store.raise_level(principal, level, LABEL, 11.0)
    assert receipt is not None
    return await store.position(receipt.number)


@pytest.fixture
def statements(store_address: str | None, tmp_path: Path) -> Statements:
    return statements_at(store_address, tmp_path / "state")


@pytest.fixture
def key(tmp_path: Path) -> bytes:
    return level_key(KeyFiles(tmp_path / "state" / FOLDER))


async def lagging(store: LevelStore, position: Position) -> frozenset[str]:
    return (await store.laggards(position)).lagging


async def test_a_poll_returns_the_sessions_that_have_changed_since(level_store: LevelStore, level_place: Place):
    await raised(level_store, BOB)
    other = await level_place.open()
    begun = await other.register("other", 11.0)
    quiet = await other.poll("other", begun)
    await raised(level_store, ALICE, INTERNAL)
    last = await raised(level_store, ALICE, SECRET)
    poll = await other.poll("other", begun)

    assert (quiet.position, quiet.changed, quiet.registered) == (begun, (), True)
    assert (poll.position, poll.registered) == (last, True)
    assert [(each.principal, each.level) for each in poll.changed] == [(ALICE, SECRET)]
    assert (await other.poll("other", last)).changed == ()


async def test_a_poll_returns_changes_of_an_operator_too(level_store: LevelStore):
    begun = await level_store.register("one", 10.0)
    await raised(level_store, ALICE)
    await raised(level_store, BOB)
    await level_store.lower_level(ALICE, PUBLIC, Cause("operator"), 12.0)
    await level_store.end_session(BOB, Cause("operator"), 12.0)

    changed = {each.principal: each for each in (await level_store.poll("one", begun)).changed}
    assert changed[ALICE].level is PUBLIC
    assert changed[BOB].ended


async def test_the_beginning_of_a_session_is_no_change(level_store: LevelStore):
    begun = await level_store.register("one", 10.0)
    await level_store.begin(ALICE, 11.0)

    assert (await level_store.poll("one", begun)).changed == ()


async def test_a_runtime_lags_until_it_acknowledges(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    await level_store.register("one", 10.0)
    await other.register("other", 10.0)
    position = await raised(level_store)

    assert await lagging(level_store, position) == {"one", "other"}
    assert await level_store.acknowledge("one", position)
    assert await lagging(level_store, position) == {"other"}
    assert await other.acknowledge("other", position)
    found = await level_store.laggards(position)
    assert (found.lagging, found.settled, found.found) == (frozenset(), {"one", "other"}, True)
    last = await raised(level_store, BOB)
    assert await lagging(level_store, last) == {"one", "other"}
    # A later acknowledgement is one of every change before.
    assert await other.acknowledge("other", last)
    assert await lagging(level_store, position) == frozenset()


async def test_a_runtime_that_registers_later_does_not_lag(level_store: LevelStore):
    position = await raised(level_store)

    assert await level_store.register("late", 12.0) == position
    assert await lagging(level_store, position) == frozenset()


async def test_a_runtime_that_registers_again_lags_behind_what_it_has_not_applied(level_store: LevelStore):
    begun = await level_store.register("one", 10.0)
    position = await raised(level_store)

    assert await level_store.register("one", 12.0, begun) == begun
    assert await lagging(level_store, position) == {"one"}
    assert [each.principal for each in (await level_store.poll("one", begun)).changed] == [ALICE]


async def test_a_runtime_that_is_struck_has_to_register_again(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    for runtime in ("dead", "gone", "alive"):
        await other.register(runtime, 10.0)
    position = await raised(level_store)
    await level_store.strike({"dead", "gone"}, position)

    assert await lagging(level_store, position) == {"alive"}
    assert not (await other.poll("dead", position)).registered
    assert not await other.acknowledge("dead", position)
    assert not (await other.poll("dead", position)).registered
    assert await other.register("dead", 12.0) == position
    assert (await other.poll("dead", position)).registered


async def test_a_runtime_that_has_left_is_settled_and_its_row_is_removed_later(
    level_store: LevelStore, statements: Statements
):
    for runtime in ("leaves", "stays"):
        await level_store.register(runtime, 10.0)
    await level_store.leave("leaves", 100.0)
    position = await raised(level_store)
    found = await level_store.laggards(position)
    assert (found.lagging, found.settled) == ({"stays"}, {"leaves"})
    assert (await level_store.poll("stays", position)).runtimes == {"stays"}

    await level_store.register("other", 100.0 + KEPT)
    assert len(statements("SELECT id FROM bascule.runtimes")) == 3
    await level_store.register("other", 101.0 + KEPT)
    assert statements("SELECT id FROM bascule.runtimes ORDER BY id") == [("other",), ("stays",)]


async def test_a_runtime_that_is_not_registered_gets_all_records(level_store: LevelStore):
    await level_store.begin(BOB, 10.0)
    position = await raised(level_store)
    poll = await level_store.poll("nobody", position)

    assert not poll.registered
    assert {(each.principal, each.level) for each in poll.changed} == {(ALICE, CONFIDENTIAL), (BOB, PUBLIC)}


async def test_a_poll_names_the_runtimes_that_are_registered(level_store: LevelStore, level_place: Place):
    other = await level_place.open()
    begun = await level_store.register("one", 10.0)
    await other.register("other", 10.0)

    assert (await level_store.poll("one", begun)).runtimes == {"one", "other"}


DAMAGED_ROWS = {
    "gone": "DELETE FROM bascule.runtimes WHERE id = 'one'",
    "empty": "UPDATE bascule.runtimes SET sealed = '' WHERE id = 'one'",
    "of another runtime": "UPDATE bascule.runtimes SET sealed ="
    " (SELECT sealed FROM bascule.runtimes WHERE id = 'other') WHERE id = 'one'",
}


@pytest.mark.parametrize("damage", DAMAGED_ROWS)
async def test_a_row_that_does_not_verify_acknowledges_nothing(
    damage: str, level_store: LevelStore, statements: Statements
):
    await level_store.register("one", 10.0)
    await level_store.register("other", 10.0)
    position = await raised(level_store)
    for runtime in ("one", "other"):
        await level_store.acknowledge(runtime, position)
    statements(DAMAGED_ROWS[damage])
    found = await level_store.laggards(position)

    assert found.settled == {"other"}
    assert found.lagging == (set() if damage == "gone" else {"one"})
    for runtime, registered in (("one", False), ("other", True)):
        poll = await level_store.poll(runtime, position)
        assert (poll.registered, poll.runtimes) == (registered, {"other"})
        assert {each.principal for each in poll.changed} == (set() if registered else {ALICE})
    await level_store.strike({"one"}, position)
    assert statements("SELECT id FROM bascule.runtimes") == [("other",)]


async def test_a_poll_that_finds_nothing_new_finds_damage_later(level_store: LevelStore, statements: Statements):
    begun = await level_store.register("one", 10.0)
    await level_store.register("other", 10.0)
    for _ in range(2):
        poll = await level_store.poll("one", begun)
        assert (poll.registered, poll.runtimes) == (True, {"one", "other"})
    statements("DELETE FROM bascule.runtimes WHERE id = 'other'")
    assert (await level_store.poll("one", begun)).runtimes == {"one"}
    statements("DELETE FROM bascule.runtimes")
    assert not (await level_store.poll("one", begun)).registered
    await level_store.register("one", 10.0)
    assert (await level_store.poll("one", begun)).registered
    assert not (await level_store.poll("other", begun)).registered


async def test_a_store_without_its_id_is_an_error(level_store: LevelStore, statements: Statements):
    await level_store.register("one", 10.0)
    last = await raised(level_store)
    statements("DELETE FROM bascule.about")
    for work in (level_store.poll("one", last), level_store.register("two", 10.0), level_store.position()):
        with pytest.raises(StoreError) as caught:
            await work
        assert "lost its id" in caught.value.message + caught.value.evidence


async def test_an_unreadable_last_receipt_has_all_records_read(
    level_store: LevelStore, statements: Statements, store_address: str | None
):
    await level_store.register("one", 10.0)
    last = await raised(level_store)
    content = "epoch = 'x'" if store_address is None else "receipt = 'x'"
    statements(f"UPDATE bascule.receipts SET user_id = '', {content} WHERE number = %s", last.number)
    damaged = await level_store.poll("one", last)
    later = await raised(level_store, BOB)

    assert (damaged.registered, damaged.position.fingerprint) == (False, UNREADABLE)
    poll = await level_store.poll("one", last)
    assert (poll.registered, poll.position) == (False, later)


async def test_an_acknowledgement_ahead_of_all_receipts_or_of_another_receipt_counts_for_nothing(
    level_store: LevelStore, statements: Statements, key: bytes
):
    """Rows of a newer state of the database, in an older copy."""
    await level_store.register("one", 10.0)
    first = await raised(level_store, BOB)
    last = await raised(level_store)
    statements("DELETE FROM bascule.runtimes")
    ahead, other = Position(last.number + 5, last.fingerprint), Position(last.number, first.fingerprint)
    for runtime, stated in (("ahead", ahead), ("other", other), ("true", last)):
        statements("INSERT INTO bascule.runtimes VALUES (%s, %s)", runtime, row_of(runtime, stated, key))
    found = await level_store.laggards(first)

    assert (found.lagging, found.settled) == ({"ahead", "other"}, {"true"})


async def test_a_poll_after_a_position_of_another_history_returns_all_records(level_store: LevelStore):
    await level_store.register("one", 10.0)
    await raised(level_store, BOB)
    last = await raised(level_store)
    assert (await level_store.poll("one", last)).registered
    for other in (
        Position(last.number + 1, last.fingerprint, last.origin),
        Position(last.number, "0" * 16, last.origin),
        Position(last.number, last.fingerprint, "another store"),
        Position(0, "", "another store"),
        Position(),
    ):
        poll = await level_store.poll("one", other)
        assert (poll.registered, poll.position) == (False, last)
        assert {each.principal for each in poll.changed} == {ALICE, BOB}


async def test_a_change_that_the_store_has_lost_is_not_found(level_store: LevelStore, statements: Statements):
    await level_store.register("one", 10.0)
    first, last = await raised(level_store, BOB), await raised(level_store)
    await level_store.acknowledge("one", last)
    statements("DELETE FROM bascule.receipts WHERE number = %s", last.number)

    assert not (await level_store.laggards(last)).found
    assert (await level_store.laggards(first)).found
    assert not (await level_store.laggards(Position(first.number, last.fingerprint))).found
    poll = await level_store.poll("one", last)
    assert (poll.registered, poll.position) == (False, first)


async def test_a_store_without_a_change_has_found_the_beginning(level_store: LevelStore):
    begun = await level_store.register("one", 10.0)
    found = await level_store.laggards(begun)

    assert (begun.number, found.found, found.settled) == (0, True, {"one"})


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
