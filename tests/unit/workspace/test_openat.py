"""Confined opening below a folder, by the kernel or folder by folder."""

import errno
import os
from pathlib import Path

import pytest

from bascule.workspace import openat
from bascule.workspace.openat import (
    BENEATH,
    PATH_ONLY,
    Engine,
    KernelEngine,
    WalkEngine,
    best_engine,
    exchange,
    openat2,
)
from support.workspaces import open_descriptors


def test_a_file_below_is_opened(engine: Engine, root_fd: int, files: Path):
    (files / "d" / "e").mkdir(parents=True)
    (files / "d" / "e" / "f").write_text("inside")
    fd = engine.open(root_fd, "d/e/f", os.O_RDONLY)
    assert os.read(fd, 10) == b"inside"
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_the_folder_itself_is_opened(engine: Engine, root_fd: int, files: Path):
    fd = engine.open(root_fd, "", PATH_ONLY | os.O_DIRECTORY)
    assert os.path.samestat(os.fstat(fd), files.stat())
    os.close(fd)


def test_a_new_file_is_made(engine: Engine, root_fd: int, files: Path):
    os.close(engine.open(root_fd, "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    assert (files / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("key", ["link", "link/sub/f", "inside", "d/up", "d/up/outside/secret.txt", "dangling"])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, PATH_ONLY | os.O_DIRECTORY, os.O_RDONLY | os.O_DIRECTORY])
def test_no_link_is_followed_wherever_it_leads(
    engine: Engine, key: str, flags: int, root_fd: int, files: Path, outside: Path
):
    (files / "d").mkdir()
    (files / "link").symlink_to(outside)
    (files / "inside").symlink_to("d")
    (files / "d" / "up").symlink_to("../..")
    (files / "dangling").symlink_to("nothing")
    before = open_descriptors(files)
    with pytest.raises(OSError) as caught:
        os.close(engine.open(root_fd, key, flags))
    assert caught.value.errno == errno.ELOOP
    assert open_descriptors(files) == before


def test_a_file_on_the_way_is_no_folder(engine: Engine, root_fd: int, files: Path):
    (files / "f").write_text("")
    for key in ("f/x", "f/x/y"):
        with pytest.raises(NotADirectoryError):
            engine.open(root_fd, key, os.O_RDONLY)


def test_what_is_not_there_is_not_found(engine: Engine, root_fd: int):
    for key in ("a", "a/b"):
        with pytest.raises(FileNotFoundError):
            engine.open(root_fd, key, os.O_RDONLY)


def test_what_is_mounted_inside_is_refused(engine: Engine):
    """/proc and /dev are mounted below the root of every machine."""
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for key in ("proc", "proc/version"):
            with pytest.raises(OSError) as caught:
                engine.open(root, key, os.O_RDONLY)
            assert caught.value.errno == errno.EXDEV
    finally:
        os.close(root)


def test_the_kernel_is_asked_again_a_bounded_number_of_times(root_fd: int, monkeypatch: pytest.MonkeyPatch):
    asked: list[bytes] = []

    def busy(folder: int, path: bytes, *_: int) -> int:
        asked.append(path)
        raise OSError(errno.EAGAIN, "again")

    monkeypatch.setattr(openat, "openat2", busy)
    with pytest.raises(OSError) as caught:
        KernelEngine().open(root_fd, "a", os.O_RDONLY)
    assert caught.value.errno == errno.EAGAIN
    assert 1 < len(asked) < 1000


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_the_kernels_confinement_the_way_is_walked(number: int, root_fd: int, monkeypatch: pytest.MonkeyPatch):
    assert isinstance(best_engine(root_fd), KernelEngine)

    def forbidden(*_: object) -> int:
        raise OSError(number, "not here")

    monkeypatch.setattr(openat, "openat2", forbidden)
    assert isinstance(best_engine(root_fd), WalkEngine)


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
