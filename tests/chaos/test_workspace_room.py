"""No more room: the quota, a full disk, a limit of the system. What was written before stays, and work goes on with room."""

import errno
import os
import resource
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from bascule.core.errors import NoRoom
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace
from bascule.workspace.undo import backups
from support.workspaces import in_call, slots, tree

ROOM = 256 * 1024
"""Bytes that fit, by whatever ends them."""
SPARE = 32 * 1024
"""What a disk needs for itself."""
TOO_MUCH = b"x" * (2 * ROOM)


@contextmanager
def by_quota(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Workspace]:
    with Workspace(folder / "home", quota=ROOM) as workspace:
        yield workspace


@contextmanager
def by_limit_of_file_sizes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Workspace]:
    """The system refuses the byte after this one, in the midst of a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        with Workspace(folder / "home") as workspace:
            yield workspace
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def by_failing_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Workspace]:
    """As a full disk does it: some bytes are taken, and then none."""
    real = os.write

    def write(fd: int, data: bytes) -> int:
        room = ROOM - os.fstat(fd).st_size
        if room <= 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        return real(fd, bytes(data[:room]))

    monkeypatch.setattr(backups.os, "write", write)
    with Workspace(folder / "home") as workspace:
        yield workspace
    monkeypatch.undo()


@contextmanager
def by_small_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Workspace]:
    with mounted(folder), Workspace(folder / "home") as workspace:
        yield workspace


@contextmanager
def mounted(folder: Path) -> Generator[None]:
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM + SPARE}", "none", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def can_mount() -> bool:
    """Where it is not allowed, the writes that fail as on a full disk have to do."""
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return os.geteuid() == 0 and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


Way = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Workspace]]
WAYS: list[Way] = [by_quota, by_limit_of_file_sizes, by_failing_writes, *([by_small_disk] if can_mount() else [])]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def workspace(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Workspace]:
    with request.param(tmp_path, monkeypatch) as made:
        yield made


def test_a_file_that_is_replaced_stays_as_it_was(workspace: Workspace, tmp_path: Path):
    workspace.write_text("a", "old")
    with pytest.raises(NoRoom, match="no room for /workspace/a"):
        workspace.write_bytes("a", TOO_MUCH)
    assert workspace.read_text("a") == "old"
    assert slots(tmp_path / "home") == []
    workspace.write_text("a", "new")
    assert workspace.read_text("a") == "new"


def test_what_was_appended_before_stays_and_nothing_of_what_does_not_fit(workspace: Workspace):
    with workspace.open("log", "ab") as file:
        file.write(b"first")
        file.flush()
        with pytest.raises(NoRoom):
            file.write(TOO_MUCH)
    assert workspace.read_bytes("log") == b"first"
    with workspace.open("log", "ab") as file:
        file.write(b" second")
    assert workspace.read_bytes("log") == b"first second"


def test_a_file_that_is_written_goes_on_where_it_stood(workspace: Workspace):
    with workspace.open("f", "wb") as file:
        file.write(b"begin ")
        file.flush()
        with pytest.raises(NoRoom):
            file.write(TOO_MUCH)
        file.write(b"end")
    assert workspace.read_bytes("f") == b"begin end"


def test_a_text_that_does_not_fit_leaves_nothing_of_itself(workspace: Workspace):
    with workspace.open("f", "w") as file, pytest.raises(NoRoom):
        file.write("y" * 2 * ROOM)
    assert workspace.read_text("f") == ""


def test_a_call_that_finds_no_room_is_undone_whole(workspace: Workspace, tmp_path: Path):
    workspace.write_text("a", "old")
    workspace.write_text("d/b", "old too")
    before = tree(tmp_path / "home" / "files")
    call = Transaction()
    with in_call(call):
        workspace.write_text("a", "new")
        workspace.delete("d/b")
        with workspace.open("c", "ab") as file, pytest.raises(NoRoom):
            file.write(TOO_MUCH)
    assert call.rollback() == (Ending.RESTORED, ())
    assert tree(tmp_path / "home" / "files") == before


def filled(workspace: Workspace) -> int:
    """Files of one block each, until no more fit."""
    for number in range(1000):
        try:
            workspace.write_bytes(f"fill/{number}", b"z" * 4096)
        except NoRoom:
            return number
    raise AssertionError("there is no end of room")


@pytest.mark.parametrize("way", [by_quota, *WAYS[3:]], ids=lambda way: way.__name__)
def test_work_goes_on_when_there_is_room_again(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with way(tmp_path, monkeypatch) as workspace:
        count = filled(workspace)
        assert 20 < count <= (ROOM + SPARE) // 4096
        assert all(workspace.read_bytes(f"fill/{number}") == b"z" * 4096 for number in range(count))
        workspace.delete("fill/0")
        workspace.write_bytes("again", b"z" * 4096)
        # A server that has the folder mounted deletes without asking us.
        (tmp_path / "home" / "files" / "fill" / "1").unlink()
        workspace.write_bytes("and again", b"z" * 4096)


@pytest.mark.long
def test_writers_in_many_threads_do_not_pass_the_quota(tmp_path: Path, scale: int):
    refused: list[NoRoom] = []
    with Workspace(tmp_path / "home", quota=ROOM) as workspace:

        def work(name: str) -> None:
            for number in range(40):
                try:
                    workspace.write_bytes(f"{name}/{number}", b"x" * 5000)
                    with workspace.open(f"{name}/log", "ab") as file:
                        file.write(b"y" * 3000)
                except NoRoom as error:
                    refused.append(error)
                if number % 7 == 0 and workspace.exists(name):
                    workspace.delete_tree(name)

        threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            with workspace._files._history.lock:
                assert workspace._files._quota._count() <= ROOM
        for thread in threads:
            thread.join()
        quota = workspace._files._quota
        assert refused
        assert quota._used == quota._count() <= ROOM
