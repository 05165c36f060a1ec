"""Two calls of the Linux kernel."""

import errno
import os
from pathlib import Path

import pytest

from bascule.workspace import openat
from bascule.workspace.openat import BENEATH, exchange, openat2


def test_the_kernel_opens_below_a_folder_and_not_beside_it(root_fd: int, files: Path, outside: Path):
    (files / "a").write_text("inside")
    fd = openat2(root_fd, b"a", os.O_RDONLY | os.O_CLOEXEC, 0, BENEATH)
    assert os.read(fd, 10) == b"inside"
    os.close(fd)
    with pytest.raises(OSError, match="cross-device") as caught:
        openat2(root_fd, b"../../outside/secret.txt", os.O_RDONLY, 0, BENEATH)
    assert caught.value.errno == errno.EXDEV
    assert caught.value.filename is None


def test_two_entries_change_places_in_one_step(root_fd: int, files: Path):
    (files / "a").write_text("a")
    (files / "b").write_text("b")
    assert exchange(root_fd, "a", root_fd, "b")
    assert ((files / "a").read_text(), (files / "b").read_text()) == ("b", "a")


def test_what_is_not_there_cannot_change_places(root_fd: int, files: Path):
    (files / "a").write_text("a")
    with pytest.raises(FileNotFoundError):
        exchange(root_fd, "a", root_fd, "b")


def test_a_system_without_the_calls_says_so(root_fd: int, files: Path, monkeypatch: pytest.MonkeyPatch):
    assert openat._function("no_such_function") is None
    monkeypatch.setattr(openat, "_syscall", None)
    monkeypatch.setattr(openat, "_renameat2", None)
    with pytest.raises(OSError, match="no openat2") as caught:
        openat2(root_fd, b"a", os.O_RDONLY, 0, BENEATH)
    assert caught.value.errno == errno.ENOSYS
    assert not exchange(root_fd, "a", root_fd, "b")


def test_a_file_system_that_cannot_exchange_is_no_error(root_fd: int, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> int:
        openat.ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(openat, "_renameat2", refused)
    assert not exchange(root_fd, "a", root_fd, "b")
