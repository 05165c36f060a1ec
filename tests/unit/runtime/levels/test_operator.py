"""What an operator does by hand: kept, fenced, with a receipt."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from itertools import count
from pathlib import Path

import pytest

from bascule.core.errors import NotWrittenDown, StoreError, UsageError
from bascule.core.receipt import LONGEST_REASON, Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.levels.operator import Operator
from bascule.sensitivity.fence import Fence
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.workspace.directory import home_name
from bascule.workspace.level_marks import LevelMarks
from bascule.workspace.mark_files import MarkFiles
from support.auditing import Notes
from support.level_stores import Place, place_at
from support.links import ALICE, BOB
from support.waiting import fail_after

PUBLIC, CONFIDENTIAL, SECRET = DataSensitivity.PUBLIC, DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET


@pytest.fixture
async def place(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(store_address, tmp_path) as made:
        yield made


@pytest.fixture
async def store(place: Place) -> LevelStore:
    return await place.open()


def clock() -> Callable[[], float]:
    ticks = count(100)
    return lambda: float(next(ticks))


@pytest.fixture
def audit() -> Notes:
    return Notes()


@pytest.fixture
def operator(store: LevelStore, audit: Notes) -> Operator:
    return Operator(store, "ada", clock(), audit)


async def test_a_raise_leaves_a_receipt_in_the_operators_name(operator: Operator, store: LevelStore):
    await store.begin(ALICE, 1.0)
    deed = await operator.raise_to(ALICE, SECRET, dataset="patients", reason=" told by phone ")

    assert (deed.record.level, deed.record.datasets, deed.began) == (SECRET, {"patients": SECRET}, False)
    (receipt,) = await store.receipts(ALICE)
    assert receipt == deed.receipt
    assert receipt.cause == Cause("operator ada", dataset="patients", reason="told by phone")
    assert (receipt.change, receipt.before, receipt.after) == ("raise", PUBLIC, SECRET)
    assert receipt.fence == "no other runtime had to be waited for"


async def test_one_that_has_not_begun_begins_there(operator: Operator):
    assert (await operator.find(ALICE)) is None
    deed = await operator.raise_to(ALICE, CONFIDENTIAL)
    assert (deed.began, deed.record.level) == (True, CONFIDENTIAL)
    found = await operator.find(ALICE)
    assert found is not None
    assert found.level is CONFIDENTIAL


async def test_what_is_private_enough_stays_as_it_is_without_a_receipt(operator: Operator, store: LevelStore):
    await operator.raise_to(ALICE, SECRET)
    deed = await operator.raise_to(ALICE, CONFIDENTIAL)
    assert (deed.receipt, deed.record.level, deed.began) == (None, SECRET, False)
    assert deed.fence
    assert len(await store.receipts(ALICE)) == 1


async def test_a_level_is_lowered_and_the_receipt_says_by_whom_and_why(operator: Operator, store: LevelStore):
    await operator.raise_to(ALICE, SECRET)
    deed = await operator.declassify(ALICE, PUBLIC, "test data")
    assert deed.record.level is PUBLIC
    receipt = (await store.receipts(ALICE))[-1]
    assert (receipt.change, receipt.cause) == ("declassify", Cause("operator ada", reason="test data"))
    assert receipt.fence


@pytest.mark.parametrize("reason", ["", "  \n"])
async def test_nothing_is_lowered_without_a_reason(operator: Operator, store: LevelStore, reason: str):
    await operator.raise_to(ALICE, SECRET)
    with pytest.raises(UsageError, match="only for a reason"):
        await operator.declassify(ALICE, PUBLIC, reason)
    found = await operator.find(ALICE)
    assert found is not None
    assert found.level is SECRET


async def test_an_agent_session_is_ended_with_a_receipt(operator: Operator, store: LevelStore):
    await store.begin(ALICE, 1.0)
    deed = await operator.end(ALICE, "done")
    assert deed.record.ended
    (receipt,) = await store.receipts(ALICE)
    assert (receipt.change, receipt.cause.reason) == ("end", "done")


async def test_what_is_not_there_is_neither_lowered_nor_ended(operator: Operator):
    with pytest.raises(UsageError, match="no agent session"):
        await operator.declassify(BOB, PUBLIC, "why")
    with pytest.raises(UsageError, match="no agent session"):
        await operator.end(BOB)


async def test_a_reason_has_an_end_and_a_dataset_a_name(operator: Operator):
    with pytest.raises(UsageError, match=f"at most {LONGEST_REASON}"):
        await operator.raise_to(ALICE, SECRET, reason="x" * (LONGEST_REASON + 1))
    with pytest.raises(UsageError, match="name of a dataset"):
        await operator.raise_to(ALICE, SECRET, dataset="a\nb")
    assert await operator.find(ALICE) is None


async def test_every_deed_waits_until_each_runtime_has_followed(operator: Operator, place: Place):
    followed: list[SessionRecord] = []

    async def follow(records: Iterable[SessionRecord]) -> bool:
        followed.extend(records)
        return True

    other = Fence(await place.open(), follow)
    await other.open()
    try:
        async with fail_after(20):
            for deed in (
                operator.raise_to(ALICE, SECRET),
                operator.declassify(ALICE, PUBLIC, "test data"),
                operator.end(ALICE),
            ):
                done = await deed
                assert done.fence == "1 other runtimes acknowledged"
                assert followed[-1] == done.record
    finally:
        await other.close()


async def test_a_deed_is_done_also_where_its_receipt_cannot_be_completed(
    operator: Operator, store: LevelStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "complete_receipt", full)
    async with asyncio.timeout(20):
        deed = await operator.raise_to(ALICE, SECRET)
    assert deed.record.level is SECRET
    assert "could not be completed: the disk is full" in caplog.text


async def test_what_an_operator_does_is_written_down(operator: Operator, audit: Notes, store: LevelStore):
    await operator.raise_to(ALICE, SECRET)
    await operator.declassify(ALICE, PUBLIC, "a mistake")
    await operator.end(ALICE)

    assert audit.deeds == [
        (ALICE, "declassify", PUBLIC, "operator ada"),
        (ALICE, "end", None, "operator ada"),
    ]
    assert [change.change for change in audit.changes if change is not None] == ["raise", "declassify", "end"]


async def test_what_cannot_be_written_down_is_not_lowered_and_not_ended(
    operator: Operator, audit: Notes, store: LevelStore
):
    await operator.raise_to(ALICE, SECRET)
    audit.full = True
    with pytest.raises(NotWrittenDown):
        await operator.declassify(ALICE, PUBLIC, "a mistake")
    with pytest.raises(NotWrittenDown):
        await operator.end(ALICE)

    record = await store.begin(ALICE, 9.0)
    assert (record.level, record.ended) == (SECRET, False)


async def test_a_raise_holds_also_where_it_cannot_be_written_down(operator: Operator, audit: Notes, store: LevelStore):
    audit.full = True
    with pytest.raises(NotWrittenDown):
        await operator.raise_to(ALICE, SECRET)

    assert (await store.begin(ALICE, 9.0)).level is SECRET
    (receipt,) = await store.receipts(ALICE)
    assert receipt.fence == "no other runtime had to be waited for"


@pytest.fixture
async def marks(store: LevelStore, tmp_path: Path) -> LevelMarks:
    made = LevelMarks(MarkFiles(tmp_path / "workspaces", tmp_path), store)
    await made.open()
    (tmp_path / "workspaces" / home_name(ALICE)).mkdir(parents=True)
    return made


def mark_in(folder: Path) -> Path:
    return folder / "workspaces" / home_name(ALICE) / "level"


async def test_what_an_operator_does_is_in_the_level_mark(
    store: LevelStore, audit: Notes, marks: LevelMarks, tmp_path: Path
):
    operator = Operator(store, "ada", clock(), audit, marks)
    for deed, words in (
        (operator.raise_to(ALICE, SECRET), b'"s-1",3,1'),
        (operator.declassify(ALICE, CONFIDENTIAL, "reviewed"), b'"s-1",2,2'),
    ):
        await deed
        assert words in mark_in(tmp_path).read_bytes()


async def test_nothing_is_raised_to_a_mark_where_nothing_can_be_lowered(
    store: LevelStore, audit: Notes, marks: LevelMarks
):
    operator = Operator(store, "ada", clock(), audit, marks)
    await operator.raise_to(ALICE, CONFIDENTIAL)
    with pytest.raises(UsageError, match="is CONFIDENTIAL, which is not above"):
        await operator.declassify(ALICE, CONFIDENTIAL, "reviewed")
    with pytest.raises(UsageError, match="no agent session"):
        await operator.declassify(BOB, PUBLIC, "reviewed")
    assert len(await store.receipts()) == 1


async def test_a_declassification_whose_mark_stays_is_an_error_with_a_receipt(
    store: LevelStore, audit: Notes, marks: LevelMarks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    operator = Operator(store, "ada", clock(), audit, marks)
    await operator.raise_to(ALICE, SECRET)
    monkeypatch.setattr(MarkFiles, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        await operator.declassify(ALICE, PUBLIC, "reviewed")
    assert [change.change for change in audit.changes if change is not None] == ["raise", "declassify"]
    assert (await store.begin(ALICE, 9.0)).level is PUBLIC
