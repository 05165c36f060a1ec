"""The log as it is read, also while it is written."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.records.audit.read import AuditReading, Entry, open_files, whole_lines
from bascule.store.audit.folder import AuditFolder


@pytest.fixture
def folder(tmp_path: Path) -> AuditFolder:
    made = AuditFolder(tmp_path)
    made.make()
    return made


def record(seq: int, at: float, **fields: str) -> bytes:
    more = "".join(f',"{name}":"{value}"' for name, value in fields.items())
    return f'{{"kind":"x","seq":{seq},"at":{at}{more},"mac":"00"}}\n'.encode()


def test_records_of_all_chains_come_in_order_of_time(folder: AuditFolder):
    (folder.path / "0001.000001.log").write_bytes(record(1, 1.0) + record(2, 4.0, user="alice"))
    (folder.path / "0001.log").write_bytes(record(3, 5.0))
    (folder.path / "0002.log").write_bytes(record(1, 2.0) + record(2, 3.0) + record(3, 6.0))
    entries = list(AuditReading(folder).entries())

    assert [(entry.writer[-4:], entry.seq) for entry in entries] == [
        ("0001", 1),
        ("0002", 1),
        ("0002", 2),
        ("0001", 2),
        ("0001", 3),
        ("0002", 3),
    ]
    assert entries[3] == Entry(f"{folder.id()}-0001", 2, 4.0, "x", {"user": "alice"})


def test_lines_that_are_no_records_are_counted_and_one_in_the_making_is_not(folder: AuditFolder):
    (folder.path / "0001.log").write_bytes(record(1, 1.0) + b"\xff\n[]\n{}\n" + record(2, 2.0) + b'{"kind"')
    reading = AuditReading(folder)

    assert [entry.seq for entry in reading.entries()] == [1, 2]
    assert reading.unreadable == 3


def test_where_there_is_no_log_there_are_no_records(tmp_path: Path):
    assert list(AuditReading(AuditFolder(tmp_path)).entries()) == []


def test_what_is_added_while_one_reads_is_not_waited_for(folder: AuditFolder):
    path = folder.path / "0001.log"
    path.write_bytes(record(1, 1.0) + record(2, 2.0)[:10])
    with path.open("rb") as file:
        lines = whole_lines(file)
        first = next(lines)
        with path.open("ab") as more:
            more.write(b"and more\nof it\n")
        rest = list(lines)

    assert first == record(1, 1.0)
    assert rest == [record(2, 2.0)[:10]]


def test_a_file_that_becomes_full_while_they_are_opened_is_not_missed(
    folder: AuditFolder, monkeypatch: pytest.MonkeyPatch
):
    current, segment = folder.path / "0001.log", folder.path / "0001.000001.log"
    current.write_bytes(b"old\n")
    listed, turns = folder.files, iter(range(10))

    def files() -> dict[str, list[Path]]:
        found = listed()
        if next(turns) == 0:
            current.rename(segment)
            current.write_bytes(b"new\n")
        return found

    monkeypatch.setattr(folder, "files", files)
    with ExitStack() as stack:
        opened = open_files(folder, "0001", stack)
        assert {name: file.read() for name, file in opened.items()} == {
            "0001.000001.log": b"old\n",
            "0001.log": b"new\n",
        }


def test_files_that_change_all_the_time_are_told(folder: AuditFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(folder, "files", lambda: {"0001": [folder.path / "gone.log"]})
    with ExitStack() as stack, pytest.raises(StoreError, match="change all the time"):
        open_files(folder, "0001", stack)
