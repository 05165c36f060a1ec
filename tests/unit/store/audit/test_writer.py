"""Records on their way into a file: in order, and kept where there is no room."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from bascule.records.audit.records import Anchored
from bascule.store.audit import writer as audit_writer
from bascule.store.audit.chain import Chain, Macs, split
from bascule.store.audit.file import AuditFile, Unwritten
from bascule.store.audit.folder import AuditFolder
from bascule.store.audit.writer import AuditWriter

MACS = Macs(b"k" * 32, "w-0001")


class Shelf(AuditFile):
    """A file with room for so many more lines."""

    room = 1000

    def append(self, lines: bytes | bytearray) -> None:
        found = bytes(lines).splitlines(keepends=True)
        fitting = b"".join(found[: self.room])
        if fitting:
            super().append(fitting)
        self.room -= min(len(found), self.room)
        if len(fitting) < len(lines):
            raise Unwritten(len(fitting), OSError(errno.ENOSPC, "No space left on device"))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    folder = AuditFolder(tmp_path)
    folder.make()
    return Shelf(folder, "0001")


@pytest.fixture
def writer(shelf: Shelf) -> AuditWriter:
    return AuditWriter(Chain(MACS), shelf)


def add(writer: AuditWriter, count: int = 1) -> None:
    for _ in range(count):
        writer.put(Anchored(writer.next, 1.0))


def numbers(shelf: Shelf) -> list[int]:
    """Of the records in the file, each of which goes on from the one before."""
    before, found = MACS.first, []
    lines = shelf._path.read_bytes().splitlines() if shelf._path.exists() else []
    for line in lines:
        parts = split(line)
        assert parts is not None
        assert MACS.over(before, parts[0]) == parts[1]
        before = parts[1]
        record: dict[str, Any] = json.loads(line)
        found.append(record["seq"])
    return found


def test_records_wait_until_they_are_written(writer: AuditWriter, shelf: Shelf):
    add(writer, 3)
    assert (writer.kept, writer.first_kept, writer.next, numbers(shelf)) == (3, 1, 4, [])
    writer.write()
    writer.write()

    assert (writer.kept, writer.first_kept, numbers(shelf)) == (0, 4, [1, 2, 3])
    assert writer.head[0] == 3


def test_one_that_is_written_at_once_comes_behind_those_that_wait(writer: AuditWriter, shelf: Shelf):
    add(writer, 2)

    assert writer.put_now(Anchored(writer.next, 1.0)) == 3
    assert numbers(shelf) == [1, 2, 3]


def test_one_that_cannot_be_written_at_once_is_none(writer: AuditWriter, shelf: Shelf):
    add(writer, 3)
    shelf.room = 2
    with pytest.raises(Unwritten):
        writer.put_now(Anchored(writer.next, 1.0))

    assert (writer.kept, writer.first_kept, writer.next, numbers(shelf)) == (1, 3, 4, [1, 2])
    assert writer.trouble is not None
    shelf.room = 100
    add(writer)
    assert writer.put_now(Anchored(writer.next, 1.0)) == 5
    assert numbers(shelf) == [1, 2, 3, 4, 5]
    assert writer.trouble is None


def test_what_there_is_no_room_for_is_kept_in_order_and_written_first(writer: AuditWriter, shelf: Shelf):
    shelf.room = 0
    for _ in range(5):
        add(writer)
        with pytest.raises(Unwritten):
            writer.write()
    shelf.room = 2
    add(writer)
    with pytest.raises(Unwritten):
        writer.write()
    assert (numbers(shelf), writer.kept) == ([1, 2], 4)
    shelf.room = 100
    writer.write()

    assert numbers(shelf) == [1, 2, 3, 4, 5, 6]


def test_it_is_full_at_so_many_records_or_bytes(writer: AuditWriter, shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(audit_writer, "MOST_KEPT", 3)
    shelf.room = 0
    add(writer, 2)
    assert not writer.full
    add(writer)
    assert (writer.full, writer.overfull) == (True, False)
    add(writer, 3)
    assert writer.overfull
    monkeypatch.setattr(audit_writer, "MOST_KEPT", 1000)
    with pytest.raises(Unwritten):
        writer.write()
    monkeypatch.setattr(audit_writer, "MOST_BYTES", 100)
    assert (writer.full, writer.overfull) == (True, True)
