"""Slots of the audit log, and the tail of a chain."""

from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import StoreError
from bascule.records.audit import chain_slot
from bascule.records.audit.chain_slot import Slot, read_tail, take_slot
from bascule.records.audit.records import Anchored
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.chain import Chain, Macs
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


MACS = Macs(b"k" * 32, "w-0001")


def lines(count: int, first: int = 1, chain: Chain | None = None, width: int = 0) -> bytes:
    bodies = (f'{{"kind":"x","seq":{n},"at":1.0,"w":"{"x" * width}"}}\n' for n in range(first, first + count))
    return (chain or Chain(MACS)).add("".join(bodies).encode())


def files_of(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def sequence(paths: list[Path]) -> int | None:
    chain = read_tail(paths).chain(MACS)
    return None if chain is None else chain.sequence


def test_a_chain_that_has_no_file_begins():
    assert sequence([]) == 0


def test_a_chain_is_continued_after_its_last_whole_record(tmp_path: Path):
    for count in (1, 2, 7):
        assert sequence(files_of(tmp_path, lines(count))) == count
    paths = files_of(tmp_path, lines(5) + b'{"kind":"torn"')

    assert sequence(paths) == 5
    assert read_tail(paths).torn == 14


def test_a_first_record_that_is_torn_leaves_an_empty_chain(tmp_path: Path):
    paths = files_of(tmp_path, b"torn")

    assert (sequence(paths), read_tail(paths).torn) == (0, 4)


def test_the_end_may_lie_in_the_file_before(tmp_path: Path):
    chain = Chain(MACS)
    first, second = lines(3, 1, chain), lines(1, 4, chain)

    assert sequence(files_of(tmp_path, first, second)) == 4
    assert sequence(files_of(tmp_path, first, b"")) == 3
    assert sequence(files_of(tmp_path, first, b"torn")) == 3
    assert sequence(files_of(tmp_path, lines(1), b"")) == 1


def test_a_file_before_the_last_that_is_torn_is_not_believed(tmp_path: Path):
    chain = Chain(MACS)
    first, second = lines(3, 1, chain), lines(1, 4, chain)

    assert sequence(files_of(tmp_path, first[:-1], second)) is None


@pytest.mark.parametrize("place", [-3, -20, -90, -150])
def test_a_last_record_that_was_altered_is_not_continued(tmp_path: Path, place: int):
    content = bytearray(lines(5))
    content[place] ^= 1

    assert sequence(files_of(tmp_path, bytes(content))) is None


def test_a_first_record_that_does_not_begin_its_chain_is_not_believed(tmp_path: Path):
    content = lines(5).splitlines(keepends=True)

    assert sequence(files_of(tmp_path, content[4])) is None


def test_a_chain_of_another_writer_is_not_continued(tmp_path: Path):
    for count in (1, 3):
        paths = files_of(tmp_path, lines(count, chain=Chain(Macs(b"k" * 32, "w-0002"))))
        assert (sequence(paths) is None) == (count == 1)
    # From the third record on only the key tells; the first record is what `bascule audit verify` looks at.
    assert read_tail(paths).chain(Macs(b"o" * 32, "w-0001")) is None


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain_slot, "CHUNK", 64)
    for width in (0, 10, 100, 1000):
        (path,) = files_of(tmp_path, lines(50, width=width))
        assert sequence([path]) == 50
    read = 0
    real = Path.open

    def counting(self: Path, mode: str = "r"):
        file = real(self, mode)
        reading = file.read

        def counted(size: int = -1) -> Any:
            nonlocal read
            read += size
            return reading(size)

        file.read = counted
        return file

    monkeypatch.setattr(Path, "open", counting)
    sequence([path])
    assert read < 5000 < path.stat().st_size


def test_a_line_that_never_ends_is_not_read_to_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain_slot, "CHUNK", 64)
    monkeypatch.setattr(chain_slot, "LONGEST_LINE", 640)

    assert sequence(files_of(tmp_path, lines(2, width=5000))) is None
