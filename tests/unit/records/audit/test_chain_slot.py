"""Slots: one runtime each, continued by the next, and left alone where somebody has been at them."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.records.audit import chain_slot
from bascule.records.audit.chain_slot import Slot, take_slot
from bascule.records.audit.records import Anchored
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.folder import AuditFolder
from bascule.store.audit.writer import AuditWriter

KEY = b"k" * 32


@pytest.fixture
def folder(tmp_path: Path) -> AuditFolder:
    made = AuditFolder(tmp_path)
    made.make()
    return made


def take(folder: AuditFolder, anchors: dict[str, Anchor | None] | None = None) -> Slot:
    id_ = folder.id()
    assert id_ is not None
    return take_slot(folder, id_, KEY, anchors or {})


def written(slot: Slot, count: int) -> Anchor:
    """So many records. An anchor of the last."""
    slot.file.open()
    slot.file.cut(slot.torn)
    writer = AuditWriter(slot.chain, slot.file)
    for _ in range(count):
        writer.put_now(Anchored(writer.next, 1.0))
    return Anchor(slot.writer, *writer.head, 1.0)


def test_each_runtime_has_a_slot_of_its_own_and_the_next_one_takes_it_over(folder: AuditFolder):
    first, second = take(folder), take(folder)
    assert (first.name, second.name) == ("0001", "0002")
    assert first.is_new
    written(first, 3)
    first.free()
    third = take(folder)

    assert (third.name, third.chain.sequence, third.is_new) == ("0001", 3, False)
    assert third.writer == f"{folder.id()}-0001"
    assert third.passed == ()
    second.free()
    third.free()


def test_what_was_torn_is_told(folder: AuditFolder):
    slot = take(folder)
    written(slot, 2)
    slot.free()
    with folder.current("0001").open("ab") as file:
        file.write(b"half a rec")
    slot = take(folder)

    assert (slot.torn, slot.chain.sequence) == (10, 2)
    slot.free()


def passed_over(folder: AuditFolder, anchors: dict[str, Anchor | None] | None = None) -> bool:
    slot = take(folder, anchors)
    slot.free()
    assert slot.passed == (("0001",) if slot.name == "0002" else ())
    return slot.name == "0002"


def test_one_whose_end_was_altered_is_left_as_it_is(folder: AuditFolder):
    slot = take(folder)
    written(slot, 3)
    slot.free()
    path = folder.current("0001")
    before = path.read_bytes().replace(b'"seq":3', b'"seq":4')
    path.write_bytes(before)

    assert passed_over(folder)
    assert path.read_bytes() == before


def test_one_that_ends_before_its_anchor_is_left_as_it_is(folder: AuditFolder):
    slot = take(folder)
    anchor = written(slot, 5)
    slot.free()
    path = folder.current("0001")
    assert not passed_over(folder, {anchor.writer: anchor})
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))

    assert passed_over(folder, {anchor.writer: anchor})
    path.unlink()
    assert passed_over(folder, {anchor.writer: anchor})


def test_one_that_ends_with_another_record_than_its_anchor_says_is_left_as_it_is(folder: AuditFolder):
    slot = take(folder)
    anchor = written(slot, 5)
    slot.free()

    assert passed_over(folder, {anchor.writer: Anchor(anchor.writer, 5, "00" * 32, 1.0)})


def test_one_whose_anchor_cannot_be_believed_is_left_as_it_is(folder: AuditFolder):
    slot = take(folder)
    written(slot, 5)
    slot.free()

    assert passed_over(folder, {slot.writer: None})


def test_a_file_that_was_put_aside_in_the_middle_of_a_record_is_left_as_it_is(folder: AuditFolder):
    slot = take(folder)
    written(slot, 2)
    slot.free()
    with folder.current("0001").open("ab") as file:
        file.write(b"half")
    folder.current("0001").rename(folder.segment("0001"))

    assert passed_over(folder)


def test_a_folder_that_cannot_be_used_is_told(folder: AuditFolder):
    folder.lock("0001").mkdir()
    with pytest.raises(StoreError, match="cannot be used"):
        take(folder)


def test_there_is_an_end_to_slots(folder: AuditFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain_slot, "MOST_SLOTS", 2)
    slots = [take(folder), take(folder)]
    with pytest.raises(StoreError, match="all 2 slots"):
        take(folder)
    for slot in slots:
        slot.free()
