"""A permit that sees to it that something is written down."""

from pathlib import Path

from bascule.records.audit.records import Anchored
from bascule.sensitivity.audit_permit import WrittenFirst
from bascule.store.audit.chain import Chain, Macs
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import AuditFolder
from bascule.store.audit.writer import AuditWriter


class Permit:
    """Valid, until it is said otherwise."""

    good = True

    def valid(self) -> bool:
        return self.good


def a_writer(tmp_path: Path) -> tuple[AuditWriter, Path]:
    folder = AuditFolder(tmp_path)
    folder.make()
    writer = AuditWriter(Chain(Macs(b"k" * 32, "w")), AuditFile(folder, "0001"))
    for _ in range(3):
        writer.put(Anchored(writer.next, 1.0))
    return writer, folder.current("0001")


def test_asked_it_writes_all_that_wait(tmp_path: Path):
    writer, path = a_writer(tmp_path)
    permits = [WrittenFirst(Permit(), writer, number) for number in (1, 2, 3)]
    assert not path.exists()

    assert permits[1].valid()
    assert path.read_bytes().count(b"\n") == 3
    assert all(permit.valid() for permit in permits)


def test_it_is_none_where_there_is_no_other(tmp_path: Path):
    writer, path = a_writer(tmp_path)
    other = Permit()
    permit = WrittenFirst(other, writer, 1)
    other.good = False

    assert not permit.valid()
    assert not path.exists()


def test_it_is_none_while_its_record_cannot_be_written(tmp_path: Path):
    writer, path = a_writer(tmp_path)
    permit = WrittenFirst(Permit(), writer, 3)
    path.mkdir()
    assert not permit.valid()
    path.rmdir()

    assert permit.valid()
