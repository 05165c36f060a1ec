"""An open file of a workspace that may be written."""

import errno
import io
import os
from pathlib import Path

import pytest

from bascule.core.errors import NoRoom, WorkspaceError
from bascule.core.undo.transaction import Transaction
from bascule.workspace import Workspace
from bascule.workspace import open_file as module
from support.workspaces import in_call, texts

BLOCK = 4096


def used(workspace: Workspace) -> int | None:
    return workspace._files._quota._used


def test_what_is_written_is_counted_once(workspace: Workspace):
    with workspace.open("f", "wb+") as file:
        assert used(workspace) == BLOCK
        file.write(b"x" * 5000)
        file.flush()
        assert used(workspace) == 2 * BLOCK
        file.seek(0)
        file.write(b"y" * 5000)
        file.flush()
        assert used(workspace) == 2 * BLOCK
        file.truncate(10)
        assert used(workspace) == BLOCK
        file.seek(0)
        assert file.read() == b"y" * 10


def test_a_hole_counts_as_if_it_were_filled(tmp_path: Path):
    with Workspace(tmp_path / "home", quota=10 * BLOCK) as workspace:
        file = workspace.open("f", "wb")
        file.seek(2**40)
        file.write(b"x")
        with pytest.raises(NoRoom):
            file.close()
        with workspace.open("f", "r+b") as file, pytest.raises(NoRoom):
            file.truncate(2**40)
        assert workspace.stat("f").size == 0


def test_what_stayed_in_the_buffer_is_told_when_the_file_is_closed(tmp_path: Path):
    with Workspace(tmp_path / "home", quota=2 * BLOCK) as workspace:
        file = workspace.open("f", "wb")
        workspace.write_bytes("g", b"x")
        file.write(b"y" * 5000)
        with pytest.raises(NoRoom):
            file.close()
        assert file.closed
        assert workspace.read_bytes("f") == b""


def test_a_disk_that_fills_up_in_the_midst_of_a_write_leaves_nothing_of_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    def full(fd: int, data: memoryview) -> int:
        os.write(fd, data[:100])
        raise OSError(errno.ENOSPC, "full", "/host/path")

    with workspace.open("f", "ab") as file:
        file.write(b"before")
        file.flush()
        monkeypatch.setattr(module, "write_all", full)
        with pytest.raises(NoRoom) as caught:
            file.write(b"x" * 10_000)
        assert not [text for text in texts(caught.value) if "/host" in text]
        monkeypatch.undo()
        assert file.tell() == 6
    assert workspace.read_bytes("f") == b"before"
    assert used(workspace) == BLOCK


def test_a_file_that_cannot_be_made_longer_stays_as_it_was(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    real = os.ftruncate

    def full(fd: int, size: int) -> None:
        if size > 10:
            raise OSError(errno.EFBIG, "too large")
        real(fd, size)

    with workspace.open("f", "wb+") as file:
        file.write(b"before")
        file.flush()
        monkeypatch.setattr(module.os, "ftruncate", full)
        with pytest.raises(NoRoom):
            file.truncate(10_000)
    assert workspace.read_bytes("f") == b"before"
    assert used(workspace) == BLOCK


def test_without_a_size_it_is_cut_where_it_stands(workspace: Workspace):
    with workspace.open("f", "wb") as file:
        file.write(b"0123456789")
        file.seek(4)
        assert file.truncate() == 4
    assert workspace.read_bytes("f") == b"0123"


def test_a_file_kept_open_rejects_writes_once_its_call_was_undone(workspace: Workspace):
    workspace.write_text("f", "original")
    for mode in ("w", "a", "r+"):
        call = Transaction()
        with in_call(call):
            file = workspace.open("f", mode)
            file.write("in the call ")
            file.flush()
        call.rollback()
        file.write("after it")
        with pytest.raises(WorkspaceError, match=r"nothing was written to /workspace/f: .* undone"):
            file.close()
        assert workspace.read_text("f") == "original"


def test_a_file_kept_open_goes_on_writing_once_its_call_was_kept(workspace: Workspace):
    call = Transaction()
    with in_call(call):
        file = workspace.open("f", "w")
        file.write("in the call, ")
    call.commit()
    file.write("after it")
    file.close()
    assert workspace.read_text("f") == "in the call, after it"


def test_two_calls_that_append_in_turn_undo_only_their_own(workspace: Workspace):
    workspace.write_text("f", "0")
    first, second = Transaction(), Transaction()
    with in_call(first):
        one = workspace.open("f", "a")
        one.write("1")
        one.flush()
    with in_call(second):
        two = workspace.open("f", "a")
        two.write("2")
        two.close()
    one.write("3")
    one.close()
    assert workspace.read_text("f") == "0123"
    first.rollback()
    assert workspace.read_text("f") == "012"
    second.rollback()
    assert workspace.read_text("f") == "0"


def test_a_closed_file_takes_nothing(workspace: Workspace):
    file = workspace.open("f", "wb")
    raw = file.raw if isinstance(file, io.BufferedWriter) else None
    file.close()
    assert raw is not None
    with pytest.raises(ValueError, match="closed"):
        raw.write(b"x")
