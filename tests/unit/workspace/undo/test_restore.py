"""Restore of the changes of one call, also in files that other calls and processes have open. The models in tests/chaos
try the rest."""

import errno
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bascule.core.errors import WorkspaceError
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.quota import Quota
from bascule.workspace.undo import backups
from bascule.workspace.undo.backups import Attic, open_for_writing
from bascule.workspace.undo.ledger import Folder, Layers, Original, State
from bascule.workspace.undo.restore import Restoring
from support.workspaces import in_call, open_descriptors, slots, tree


class Place:
    """A root, an attic and layers, to restore in."""

    def __init__(self, root: ConfinedRoot, attic: Attic) -> None:
        self.root, self.attic = root, attic
        self.layers = Layers(attic.drop)

    def kept(self, content: str) -> Original:
        original = Original()
        original.slot, original.refs = self.attic.write(content.encode(), None), 1
        return original

    def restored(self, **back: State) -> tuple[dict[str, State], list[str]]:
        keyed = {key.replace("_", "/"): found for key, found in back.items()}
        restoring = Restoring(self.root, self.attic, self.layers, Quota(2**30, lambda: 0), keyed)
        return restoring.run(), restoring.failed


@pytest.fixture
def place(root: ConfinedRoot, files: Path) -> Iterator[Place]:
    home = os.open(files.parent, os.O_RDONLY)
    attic = Attic(home)
    yield Place(root, attic)
    attic.close()
    os.close(home)


def test_what_was_not_there_goes_and_what_was_comes_back(place: Place, files: Path):
    (files / "d").mkdir()
    (files / "d" / "new").write_text("")
    assert place.restored(d_new=None, d=None, e=Folder(0o700), e_f=place.kept("f")) == ({}, [])
    assert tree(files) == {"e": None, "e/f": "f"}
    assert (files / "e").stat().st_mode & 0o777 == 0o700


def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(place: Place, files: Path):
    (files / "a").mkdir()
    (files / "b").write_text("")
    assert place.restored(a=place.kept("a"), b=Folder(0o755), b_c=place.kept("c")) == ({}, [])
    assert tree(files) == {"a": "a", "b": None, "b/c": "c"}


def test_a_folder_that_is_not_empty_is_owed(place: Place, files: Path):
    (files / "d").mkdir()
    (files / "d" / "by another").write_text("")
    original = place.kept("d")
    assert place.restored(d=original) == ({"d": original}, [])
    (files / "d" / "by another").unlink()
    assert place.restored(d=original) == ({}, [])
    assert tree(files) == {"d": "d"}


@pytest.mark.parametrize("how", ["file", "link"])
def test_what_lies_below_something_that_is_no_folder_is_owed(place: Place, files: Path, how: str):
    if how == "file":
        (files / "d").write_text("")
    else:
        (files / "d").symlink_to(".")
    original = place.kept("x")
    assert place.restored(d_e_x=original) == ({"d/e/x": original}, [])


def test_a_folder_made_on_the_way_is_owed_to_nobody(place: Place, files: Path):
    owed, failed = place.restored(d_x=place.kept("x"))
    assert (owed, failed) == ({"d": None}, [])
    assert tree(files) == {"d": None, "d/x": "x"}


def test_two_files_that_changed_places_change_back(place: Place, files: Path):
    (files / "a").write_text("was b")
    (files / "b").write_text("was a")
    originals = {"a": Original(), "b": Original()}
    for name, other in (("a", "b"), ("b", "a")):
        originals[name].refs = 1
        place.layers.moved(originals[name], key=other)
    assert place.restored(a=originals["a"], b=originals["b"]) == ({}, [])
    assert tree(files) == {"a": "was a", "b": "was b"}


@pytest.mark.parametrize("link", [True, False])
def test_what_lies_elsewhere_for_good_comes_back_as_a_copy(place: Place, files: Path, link: bool):
    if link:
        (files / "there").symlink_to("nowhere")
    else:
        (files / "there").write_text("content")
    original = Original()
    original.refs = 1
    place.layers.moved(original, key="there")
    assert place.restored(here=original) == ({}, [])
    assert tree(files)["here"] == tree(files)["there"]
    assert place.layers.living("there") is None


def test_one_that_lies_where_it_belongs_is_left_there(place: Place, files: Path):
    (files / "a").write_text("a")
    original = Original()
    original.refs = 1
    place.layers.moved(original, key="a")
    assert place.restored(a=original) == ({}, [])
    assert tree(files) == {"a": "a"}


def test_one_of_which_others_speak_is_remembered_where_it_comes_to_lie(place: Place, files: Path):
    original = place.kept("a")
    original.refs = 2
    assert place.restored(a=original) == ({}, [])
    assert place.layers.living("a") is original
    other = place.kept("older")
    assert place.restored(a=other) == ({}, [])
    assert tree(files) == {"a": "older"}
    assert original.slot
    assert place.attic.status(original.slot).st_size == 1


def test_what_fails_is_told_and_the_others_come_back(place: Place, files: Path):
    lost = place.kept("lost")
    place.attic.drop(lost.slot)
    assert place.restored(a=lost, b=place.kept("b")) == ({}, ["a"])
    assert tree(files) == {"b": "b"}


OLD = "0123456789"
APPENDING = """
import sys
with open(sys.argv[1], "a") as file:
    print(flush=True)
    for line in sys.stdin:
        file.write(line[:-1])
        file.flush()
        print(flush=True)
"""


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """With a file that calls change in place."""
    workspace.write_text("f", OLD)
    return workspace


def changed(workspace: Workspace, text: str = "changed, and longer", path: str = "f") -> Transaction:
    """A call that has overwritten the file in place."""
    call = Transaction()
    with in_call(call), workspace.open(path, "r+") as file:
        file.write(text)
    return call


@contextmanager
def another_process(path: Path) -> Generator[Callable[[str], None]]:
    """A process that has the file open, as a server in a sandbox may, and appends to it on request."""
    command = [sys.executable, "-c", APPENDING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        out, back = started.stdin, started.stdout
        back.readline()

        def append(text: str) -> None:
            out.write(text + "\n")
            out.flush()
            back.readline()

        yield append


def test_what_another_process_writes_after_the_rollback_stays(workspace: Workspace, files: Path):
    with another_process(files / "f") as append:
        call = changed(workspace)
        assert call.rollback() == (Ending.RESTORED, ())
        assert workspace.read_text("f") == OLD
        append(" and on")
        assert workspace.read_text("f") == OLD + " and on"
    assert slots(files.parent) == []


def test_a_file_without_other_writers_is_replaced_in_one_step(workspace: Workspace, files: Path):
    inode = (files / "f").stat().st_ino
    with workspace.open("f") as reader:
        call = changed(workspace)
        call.rollback()
        assert reader.read() == "changed, and longer"
    assert (files / "f").stat().st_ino != inode
    assert workspace.read_text("f") == OLD


def test_the_restored_file_has_the_mode_and_the_time_of_the_original(workspace: Workspace, files: Path):
    (files / "f").chmod(0o640)
    os.utime(files / "f", (1, 2))
    with (files / "f").open("r+b"):
        call = changed(workspace)
        (files / "f").chmod(0o600)
        call.rollback()
    status = (files / "f").stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o640, 2)


def test_a_file_that_has_a_second_name_by_now_is_restored_under_both(workspace: Workspace, files: Path):
    with (files / "f").open("r+b"):
        call = changed(workspace)
        os.link(files / "f", files / "g")
        call.rollback()
    assert [(files / name).read_text() for name in "fg"] == [OLD, OLD]
    assert (files / "f").samefile(files / "g")


def test_a_hard_link_in_place_of_the_file_is_replaced_and_not_written_through(workspace: Workspace, files: Path):
    workspace.write_text("g", "of another")
    call = changed(workspace)
    (files / "f").unlink()
    os.link(files / "g", files / "f")
    with (files / "g").open("r+b"):
        call.rollback()
    assert [(files / name).read_text() for name in "fg"] == [OLD, "of another"]


@pytest.mark.parametrize("how", ["file", "link", "folder", "nothing"])
def test_a_file_that_another_process_has_replaced_is_left_as_it_is(workspace: Workspace, files: Path, how: str):
    """The original comes back to its path; the file that was moved away keeps its bytes."""
    with (files / "f").open("r+b"):
        call = changed(workspace)
        (files / "f").rename(files / "away")
        if how == "file":
            (files / "f").write_text("another")
        elif how == "link":
            (files / "f").symlink_to("away")
        elif how == "folder":
            (files / "f").mkdir()
        assert call.rollback() == (Ending.RESTORED, ())
    assert (files / "f").read_text() == OLD
    assert not (files / "f").is_symlink()
    assert (files / "away").read_text() == "changed, and longer"


def test_if_the_disk_is_full_the_original_replaces_the_file_and_later_writes_are_rejected(
    workspace: Workspace, files: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_source: int, target: int) -> None:
        os.pwrite(target, b"torn", 0)
        raise OSError(errno.ENOSPC, "full")

    other = Transaction()
    with in_call(other):
        file = workspace.open("f", "a")
    call = changed(workspace)
    monkeypatch.setattr(backups, "copy", full)
    assert call.rollback() == (Ending.RESTORED, ())
    monkeypatch.undo()
    assert workspace.read_text("f") == OLD
    file.write("lost")
    with pytest.raises(WorkspaceError, match="a write to /workspace/f is lost"):
        file.close()
    other.rollback()
    assert slots(files.parent) == []


def test_a_write_into_a_file_that_another_call_then_replaces_for_good_fails_the_commit(
    workspace: Workspace, files: Path
):
    writing, replacing = Transaction(), Transaction()
    with in_call(writing):
        file = workspace.open("f", "a")
    with in_call(replacing):
        workspace.write_text("f", "new")
    file.write(" after it was replaced")
    file.close()
    replacing.commit()
    ending, problems = writing.commit()
    assert ending is Ending.FAILED
    assert "a write to /workspace/f is lost" in problems[0]
    assert workspace.read_text("f") == "new"
    assert open_descriptors(files) == len({workspace._root._fd})


def test_a_write_into_a_file_that_another_call_replaces_stays_if_that_call_fails(workspace: Workspace, files: Path):
    writing, replacing = Transaction(), Transaction()
    with in_call(writing):
        file = workspace.open("f", "a")
    with in_call(replacing):
        workspace.write_text("f", "new")
    file.write(" on")
    file.close()
    assert writing.commit() == (Ending.KEPT, ())
    replacing.rollback()
    assert workspace.read_text("f") == OLD + " on"
    assert open_descriptors(files) == len({workspace._root._fd})


def test_a_call_may_write_to_a_file_that_it_has_deleted_itself(workspace: Workspace):
    call = Transaction()
    with in_call(call):
        file = workspace.open("temporary", "w+")
        workspace.delete("temporary")
        file.write("x")
        file.flush()
        file.close()
    assert call.commit() == (Ending.KEPT, ())


@pytest.mark.parametrize("who", ["no call", "a call that was kept"])
def test_a_write_outside_of_any_running_call_is_for_good(workspace: Workspace, who: str):
    call = Transaction()
    if who == "no call":
        file = workspace.open("f", "a")
    else:
        with in_call(call):
            file = workspace.open("f", "a")
        call.commit()
    failing = changed(workspace)
    file.write(" and on")
    file.close()
    failing.rollback()
    assert workspace.read_text("f") == "changed, and longer and on"


def test_a_writer_is_found_by_its_open_file_and_by_its_mapping(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"x" * mmap.PAGESIZE)
    with (tmp_path / "f").open("rb") as reader:
        assert not open_for_writing(reader.fileno())
        with (tmp_path / "f").open("r+b") as writer:
            assert open_for_writing(reader.fileno())
            mapped = mmap.mmap(writer.fileno(), 0)
        assert open_for_writing(reader.fileno())
        mapped.close()
        assert not open_for_writing(reader.fileno())


def test_where_the_kernel_does_not_answer_a_writer_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "f").write_bytes(b"")
    monkeypatch.delattr(backups.fcntl, "F_SETLEASE")
    with (tmp_path / "f").open("rb") as reader:
        assert open_for_writing(reader.fileno())
