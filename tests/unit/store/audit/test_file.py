"""The file of a chain: whole records only, whatever the disk does."""

import errno
import os
from pathlib import Path

import pytest

from bascule.store.audit.file import AuditFile, Unwritten
from bascule.store.audit.folder import AuditFolder


@pytest.fixture
def folder(tmp_path: Path) -> AuditFolder:
    made = AuditFolder(tmp_path)
    made.make()
    return made


def content(folder: AuditFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.files().get("0001", [])}


class Disk:
    """Takes so many bytes, and no more; and cuts nothing off, if it is told so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int, *, stubborn: bool = False) -> None:
        self.room, self.stubborn = room, stubborn
        self._write, self._truncate = os.write, os.ftruncate
        monkeypatch.setattr(os, "write", self.write)
        monkeypatch.setattr(os, "ftruncate", self.truncate)

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = self._write(descriptor, bytes(data[: self.room]))
        self.room -= done
        return done

    def truncate(self, descriptor: int, size: int) -> None:
        if self.stubborn:
            raise OSError(errno.EIO, "Input/output error")
        self._truncate(descriptor, size)


def test_lines_are_added_and_only_the_owner_reads_them(folder: AuditFolder):
    file = AuditFile(folder, "0001")
    file.append(b"one\n")
    file.append(bytearray(b"two\nthree\n"))
    file.close()
    file.close()

    assert content(folder) == {"0001.log": b"one\ntwo\nthree\n"}
    assert folder.current("0001").stat().st_mode & 0o777 == 0o600
    assert file.appends == 2


def test_a_full_disk_leaves_whole_lines_only(folder: AuditFolder, monkeypatch: pytest.MonkeyPatch):
    file = AuditFile(folder, "0001")
    disk = Disk(monkeypatch, 10)
    with pytest.raises(Unwritten, match="No space left") as caught:
        file.append(b"one\ntwo\nthree\n")

    assert (caught.value.whole, caught.value.error.errno) == (8, errno.ENOSPC)
    assert content(folder) == {"0001.log": b"one\ntwo\n"}
    disk.room = 100
    file.append(b"three\n")
    assert content(folder) == {"0001.log": b"one\ntwo\nthree\n"}
    file.close()


def test_what_could_not_be_cut_off_is_cut_off_before_the_next_line(
    folder: AuditFolder, monkeypatch: pytest.MonkeyPatch
):
    file = AuditFile(folder, "0001")
    disk = Disk(monkeypatch, 6, stubborn=True)
    with pytest.raises(Unwritten):
        file.append(b"one\ntwo\n")
    assert content(folder) == {"0001.log": b"one\ntw"}
    disk.room = 100
    with pytest.raises(Unwritten) as caught:
        file.append(b"two\n")
    assert (caught.value.whole, content(folder)) == (0, {"0001.log": b"one\ntw"})
    disk.stubborn = False
    file.append(b"two\n")

    assert content(folder) == {"0001.log": b"one\ntwo\n"}
    file.close()


def test_a_file_that_is_full_is_put_aside_and_another_one_goes_on(folder: AuditFolder):
    file = AuditFile(folder, "0001", segment=8)
    for line in (b"one\n", b"two\n", b"three\n", b"four\n", b"five\n"):
        file.append(line)
    file.close()

    assert content(folder) == {
        "0001.000001.log": b"one\ntwo\n",
        "0001.000002.log": b"three\nfour\n",
        "0001.log": b"five\n",
    }


def test_where_a_full_file_cannot_be_put_aside_it_grows_on(folder: AuditFolder, monkeypatch: pytest.MonkeyPatch):
    def refuse(_self: Path, _target: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    file = AuditFile(folder, "0001", segment=4)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        file.append(b"one\n")
    file.append(b"two\n")
    file.append(b"three\n")
    file.close()

    assert content(folder) == {"0001.000001.log": b"one\ntwo\n", "0001.000002.log": b"three\n", "0001.log": b""}


def test_a_new_file_that_cannot_be_made_is_made_with_the_next_line(
    folder: AuditFolder, monkeypatch: pytest.MonkeyPatch
):
    file = AuditFile(folder, "0001", segment=4)
    file.append(b"one")
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith("0001.log"):
            raise OSError(errno.EMFILE, "Too many open files")
        return real(path, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        file.append(b"\n")
        with pytest.raises(Unwritten, match="Too many"):
            file.append(b"two\n")
        assert file.duplicate() is None
        file.sync()
    file.append(b"two\n")
    file.close()

    assert content(folder)["0001.000001.log"] == b"one\n"


def test_a_file_that_is_no_longer_ours_alone_is_not_followed(folder: AuditFolder, tmp_path: Path):
    folder.current("0001").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unwritten):
        AuditFile(folder, "0001").append(b"one\n")

    assert not (tmp_path / "elsewhere").exists()


def test_what_is_torn_is_cut_off(folder: AuditFolder):
    folder.current("0001").write_bytes(b"one\ntw")
    file = AuditFile(folder, "0001")
    file.open()
    file.cut(2)
    file.append(b"two\n")
    file.close()

    assert content(folder) == {"0001.log": b"one\ntwo\n"}


def test_one_that_has_ended_is_not_written_to(folder: AuditFolder):
    file = AuditFile(folder, "0001")
    file.append(b"one\n")
    file.end()
    with pytest.raises(Unwritten, match="the log is closed"):
        file.append(b"two\n")

    assert content(folder) == {"0001.log": b"one\n"}
