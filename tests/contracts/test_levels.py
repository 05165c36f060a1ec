"""What every engine that keeps levels does: how levels change, and what is left of it."""

import asyncio
from itertools import product

import pytest

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore, SessionRecord
from support.level_stores import Place

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE = Principal("alice", "s-1")
LABEL = Cause("label", "notes", "read")
OPERATOR = Cause("operator root", reason="a mistake")


def adding(dataset: str) -> Cause:
    return Cause("dataset", "notes", "read", dataset)


async def test_an_agent_session_begins_public_and_once(level_store: LevelStore, level_place: Place):
    first = await level_store.begin(ALICE, 10.0)
    again = await (await level_place.open()).begin(ALICE, 20.0)

    assert first == again == SessionRecord(ALICE, PUBLIC, since=10.0)
    assert await level_store.receipts() == ()


async def test_a_raise_is_seen_by_everyone_and_leaves_a_receipt(level_store: LevelStore, level_place: Place):
    await level_store.begin(ALICE, 10.0)
    record, receipt = await level_store.raise_level(ALICE, CONFIDENTIAL, LABEL, 11.0)
    other = await level_place.open()

    assert record == await other.begin(ALICE, 20.0) == SessionRecord(ALICE, CONFIDENTIAL, 1, since=10.0)
    assert receipt is not None
    assert await other.receipts() == (receipt,)
    assert (receipt.change, receipt.principal, receipt.at, receipt.cause) == ("raise", ALICE, 11.0, LABEL)
    assert (receipt.before, receipt.after, receipt.epoch) == (PUBLIC, CONFIDENTIAL, 1)
    assert (receipt.closed, receipt.twins, receipt.fence) == ((), {}, "")


@pytest.mark.parametrize("level", [PUBLIC, INTERNAL, CONFIDENTIAL])
async def test_a_raise_to_no_more_than_there_is_changes_nothing(level_store: LevelStore, level: DataSensitivity):
    before, _ = await level_store.raise_level(ALICE, CONFIDENTIAL, LABEL, 11.0)

    assert await level_store.raise_level(ALICE, level, LABEL, 12.0) == (before, None)
    assert len(await level_store.receipts()) == 1


async def test_a_raise_begins_what_has_not_begun(level_store: LevelStore):
    record, receipt = await level_store.raise_level(ALICE, SECRET, LABEL, 11.0)

    assert record == await level_store.begin(ALICE, 12.0) == SessionRecord(ALICE, SECRET, 1, since=11.0)
    assert receipt is not None
    assert receipt.before is PUBLIC


async def test_a_raise_to_public_only_begins(level_store: LevelStore):
    assert await level_store.raise_level(ALICE, PUBLIC, LABEL, 11.0) == (SessionRecord(ALICE, PUBLIC, since=11.0), None)


async def test_each_dataset_is_kept_at_the_highest_level_it_was_given(level_store: LevelStore):
    for dataset, level in (("notes", INTERNAL), ("payroll", CONFIDENTIAL), ("notes", PUBLIC), ("payroll", INTERNAL)):
        await level_store.raise_level(ALICE, level, adding(dataset), 11.0)
    record = await level_store.begin(ALICE, 12.0)

    assert record.datasets == {"notes": INTERNAL, "payroll": CONFIDENTIAL}
    assert (record.level, record.epoch) == (CONFIDENTIAL, 2)


async def test_a_dataset_that_turns_out_to_be_more_private_raises(level_store: LevelStore):
    await level_store.raise_level(ALICE, INTERNAL, adding("notes"), 11.0)
    record, receipt = await level_store.raise_level(ALICE, SECRET, adding("notes"), 12.0)

    assert (record.level, record.datasets) == (SECRET, {"notes": SECRET})
    assert receipt is not None
    assert (receipt.before, receipt.cause.dataset) == (INTERNAL, "notes")


async def test_a_dataset_is_kept_also_if_the_level_does_not_rise(level_store: LevelStore):
    await level_store.raise_level(ALICE, SECRET, LABEL, 11.0)
    record, receipt = await level_store.raise_level(ALICE, INTERNAL, adding("notes"), 12.0)

    assert receipt is None
    assert record == await level_store.begin(ALICE, 13.0)
    assert record.datasets == {"notes": INTERNAL}


async def test_writers_at_the_same_time_keep_all_datasets_and_the_maximum(level_place: Place):
    stores = [await level_place.open() for _ in range(4)]
    levels = [INTERNAL, CONFIDENTIAL, INTERNAL, CONFIDENTIAL]
    asked = [(store, number, level) for (store, level), number in product(zip(stores, levels, strict=True), range(5))]
    await asyncio.gather(
        *(
            store.raise_level(ALICE, level, adding(f"{stores.index(store)}-{number}"), 11.0)
            for store, number, level in asked
        )
    )
    record = await stores[0].begin(ALICE, 12.0)

    assert record.level is CONFIDENTIAL
    assert record.datasets == {f"{stores.index(store)}-{number}": level for store, number, level in asked}
    assert 1 <= len(await stores[0].receipts()) <= 2


@pytest.mark.parametrize("other", [Principal("alice", "s-2"), Principal("bob", "s-1"), Principal("alice/s", "1")])
async def test_another_agent_session_stays_clean(level_store: LevelStore, other: Principal):
    await level_store.raise_level(ALICE, SECRET, adding("notes"), 11.0)

    assert await level_store.begin(other, 12.0) == SessionRecord(other, PUBLIC, since=12.0)


ODD = (
    Principal("../../evil", "a/b"),
    Principal("a/b", "../../evil"),
    Principal("x" * 255, "y" * 255),
    Principal("'; DROP TABLE sessions; --", '"'),
    Principal("ü𝄞", "日本"),
    Principal(".", "~"),
    Principal("%s", "{0}"),
)


async def test_ids_are_only_data(level_store: LevelStore, level_place: Place):
    for number, principal in enumerate(ODD):
        await level_store.raise_level(principal, DataSensitivity(1 + number % 3), adding(principal.user_id), number)
    other = await level_place.open()

    for number, principal in enumerate(ODD):
        record = await other.begin(principal, 99.0)
        level = DataSensitivity(1 + number % 3)
        assert (record.level, record.datasets, record.since) == (level, {principal.user_id: level}, number)
    assert {record.principal for record in await other.sessions()} == set(ODD)


async def test_only_an_operator_lowers_a_level_and_leaves_a_receipt(level_store: LevelStore, level_place: Place):
    await level_store.raise_level(ALICE, SECRET, adding("notes"), 11.0)
    record, receipt = await level_store.lower_level(ALICE, INTERNAL, OPERATOR, 12.0)

    assert record == await (await level_place.open()).begin(ALICE, 13.0)
    assert (record.level, record.epoch, record.datasets) == (INTERNAL, 2, {"notes": SECRET})
    assert (receipt.change, receipt.before, receipt.after, receipt.cause) == ("declassify", SECRET, INTERNAL, OPERATOR)
    assert (await level_store.receipts())[-1] == receipt


async def test_what_was_lowered_rises_again(level_store: LevelStore):
    await level_store.raise_level(ALICE, SECRET, LABEL, 11.0)
    await level_store.lower_level(ALICE, PUBLIC, OPERATOR, 12.0)
    record, receipt = await level_store.raise_level(ALICE, CONFIDENTIAL, LABEL, 13.0)

    assert (record.level, record.epoch) == (CONFIDENTIAL, 3)
    assert receipt is not None
    assert receipt.before is PUBLIC


@pytest.mark.parametrize("level", [CONFIDENTIAL, SECRET])
async def test_lowering_to_what_is_not_lower_is_a_mistake(level_store: LevelStore, level: DataSensitivity):
    before, _ = await level_store.raise_level(ALICE, CONFIDENTIAL, LABEL, 11.0)

    with pytest.raises(UsageError, match="not above"):
        await level_store.lower_level(ALICE, level, OPERATOR, 12.0)
    assert await level_store.begin(ALICE, 13.0) == before


async def test_an_ended_agent_session_stays_ended_and_never_begins_anew(level_store: LevelStore, level_place: Place):
    await level_store.raise_level(ALICE, INTERNAL, LABEL, 11.0)
    record, receipt = await level_store.end_session(ALICE, OPERATOR, 12.0)

    assert (record.ended, record.level, receipt.change) == (True, INTERNAL, "end")
    assert await (await level_place.open()).begin(ALICE, 13.0) == record
    higher, _ = await level_store.raise_level(ALICE, SECRET, LABEL, 14.0)
    assert (higher.ended, higher.level) == (True, SECRET)


async def test_an_agent_session_that_is_not_there_can_be_neither_lowered_nor_ended(level_store: LevelStore):
    with pytest.raises(UsageError, match="no agent session"):
        await level_store.lower_level(ALICE, PUBLIC, OPERATOR, 12.0)
    with pytest.raises(UsageError, match="no agent session"):
        await level_store.end_session(ALICE, OPERATOR, 12.0)
    assert await level_store.sessions() == ()


async def test_agent_sessions_are_listed_with_the_last_one_first(level_store: LevelStore):
    for number in (2, 3, 1):
        await level_store.begin(Principal("alice", f"s-{number}"), float(number))
    await level_store.raise_level(Principal("alice", "s-2"), SECRET, adding("notes"), 9.0)

    listed = await level_store.sessions()
    assert [record.principal.session_id for record in listed] == ["s-3", "s-2", "s-1"]
    assert listed[1] == await level_store.begin(Principal("alice", "s-2"), 10.0)


async def test_the_last_receipts_come_in_the_order_they_were_made(level_store: LevelStore):
    bob = Principal("bob", "s-1")
    for principal, level in ((ALICE, INTERNAL), (bob, INTERNAL), (ALICE, CONFIDENTIAL), (ALICE, SECRET)):
        await level_store.raise_level(principal, level, LABEL, 11.0)

    assert [(each.principal, each.after) for each in await level_store.receipts(limit=3)] == [
        (bob, INTERNAL),
        (ALICE, CONFIDENTIAL),
        (ALICE, SECRET),
    ]
    assert [each.after for each in await level_store.receipts(ALICE, limit=2)] == [CONFIDENTIAL, SECRET]
    numbers = [each.number for each in await level_store.receipts()]
    assert numbers == sorted(set(numbers))


async def test_a_receipt_is_completed_by_all_who_have_done_something(level_store: LevelStore, level_place: Place):
    _, receipt = await level_store.raise_level(ALICE, SECRET, LABEL, 11.0)
    assert receipt is not None
    other = await level_place.open()
    await other.complete_receipt(receipt.number, ("files open",), {"files": "probed"}, "")
    await level_store.complete_receipt(receipt.number, ("web open", "files open"), {"web": "refused"}, "2 acknowledged")
    await other.complete_receipt(receipt.number, (), {}, "")

    (kept,) = await level_store.receipts()
    assert kept.closed == ("files open", "web open")
    assert kept.twins == {"files": "probed", "web": "refused"}
    assert kept.fence == "2 acknowledged"
    assert kept.cause == LABEL


async def test_a_receipt_that_is_not_there_cannot_be_completed(level_store: LevelStore):
    with pytest.raises(UsageError, match="no receipt 7"):
        await level_store.complete_receipt(7, (), {}, "")
