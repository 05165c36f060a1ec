"""The whole content of one open file into another."""

import errno
import os
from pathlib import Path

import pytest

from bascule.workspace.undo import backups
from bascule.workspace.undo.backups import copy, write_all

CONTENT = os.urandom(3 * 1024 * 1024 + 17)


def copied(tmp_path: Path) -> bytes:
    (tmp_path / "source").write_bytes(CONTENT)
    with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("wb") as target:
        source.seek(5)
        copy(source.fileno(), target.fileno())
        assert source.tell() == 5
    return (tmp_path / "target").read_bytes()


def test_a_file_is_copied_whole(tmp_path: Path):
    assert copied(tmp_path) == CONTENT


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ENOSYS])
def test_where_the_kernel_does_not_copy_it_is_done_by_hand(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unwilling(*_: int) -> int:
        raise OSError(number, "not here")

    monkeypatch.setattr(backups.os, "copy_file_range", unwilling)
    assert copied(tmp_path) == CONTENT


def test_a_system_that_cannot_copy_at_all_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(backups.os, "copy_file_range")
    assert copied(tmp_path) == CONTENT


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: int) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(backups.os, "copy_file_range", full)
    with pytest.raises(OSError, match="full"):
        copied(tmp_path)


def test_what_the_kernel_takes_in_pieces_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    monkeypatch.setattr(backups.os, "write", lambda fd, data: real(fd, data[:3]))
    with (tmp_path / "f").open("wb") as file:
        assert write_all(file.fileno(), b"0123456789") == 10
    assert (tmp_path / "f").read_bytes() == b"0123456789"
