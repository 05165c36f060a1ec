"""File operations of one agent session, and items of a listing."""

import os
import shutil
from pathlib import Path

import pytest

from bascule.core.errors import NoRoom, PathRefused, WorkspaceError
from bascule.core.undo.transaction import Transaction
from bascule.workspace import Workspace
from bascule.workspace import files as module
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.files import entry_of
from support.workspaces import in_call, slots, tree

BLOCK = 4096


def used(workspace: Workspace) -> int | None:
    return workspace._files._quota._used


def test_everything_that_is_done_is_counted(workspace: Workspace):
    quota = workspace._files._quota
    workspace.write_bytes("d/e/f", b"x" * 5000)
    assert used(workspace) == 4 * BLOCK
    workspace.write_bytes("d/e/f", b"x")
    workspace.rename("d/e/f", "g")
    workspace.write_bytes("h", b"x" * 9000)
    workspace.rename("g", "h")
    workspace.open("h", "w").close()
    workspace.make_folder("i/j")
    workspace.rename("i", "d/k")
    workspace.delete_tree("d")
    assert used(workspace) == quota._count() == BLOCK
    workspace.delete("h")
    assert used(workspace) == quota._count() == 0


def test_a_file_that_does_not_fit_makes_no_room_less(tmp_path: Path):
    with Workspace(tmp_path / "home", quota=3 * BLOCK) as workspace:
        workspace.write_bytes("a", b"x")
        for _ in range(5):
            with pytest.raises(NoRoom):
                workspace.write_bytes("b", b"x" * 9000)
        workspace.write_bytes("b", b"x" * 8000)
        with pytest.raises(NoRoom):
            workspace.open("c", "w")
        with pytest.raises(NoRoom):
            workspace.make_folder("d")
        assert [entry.name for entry in workspace.list()] == ["a", "b"]


def test_a_file_that_is_replaced_keeps_its_mode(workspace: Workspace, files: Path):
    workspace.write_text("run.sh", "old")
    (files / "run.sh").chmod(0o750)
    workspace.write_text("run.sh", "new")
    assert (files / "run.sh").stat().st_mode & 0o777 == 0o750
    with in_call(Transaction()) as call:
        workspace.open("run.sh", "w").close()
    assert (files / "run.sh").stat().st_mode & 0o777 == 0o750
    call.rollback()
    assert workspace.read_text("run.sh") == "new"


def test_a_file_is_written_through_a_link_that_stays_inside(workspace: Workspace, files: Path):
    (files / "real").mkdir()
    (files / "folder").symlink_to("real")
    (files / "link").symlink_to("/workspace/real/f")
    workspace.write_text("link", "one")
    assert (files / "link").is_symlink()
    assert (files / "real" / "f").read_text() == "one"
    with workspace.open("folder/f", "a") as file:
        file.write(" two")
    assert workspace.read_text("link") == "one two"
    workspace.write_text("folder/new/g", "three")
    assert (files / "real" / "new" / "g").read_text() == "three"


def test_a_link_is_deleted_and_renamed_itself(workspace: Workspace, files: Path):
    workspace.write_text("f", "target")
    (files / "l").symlink_to("f")
    workspace.rename("l", "m")
    assert (files / "m").is_symlink()
    workspace.delete("m")
    assert workspace.read_text("f") == "target"


def test_a_file_that_grows_while_it_is_read_is_read_whole(workspace: Workspace, monkeypatch: pytest.MonkeyPatch):
    workspace.write_text("f", "longer than it seemed")
    real = ConfinedRoot.open_file

    def shorter(self: ConfinedRoot, key: str, flags: int) -> tuple[int, os.stat_result]:
        fd, status = real(self, key, flags)
        values = list(status)
        values[6] = 4
        return fd, os.stat_result(values)

    monkeypatch.setattr(ConfinedRoot, "open_file", shorter)
    assert workspace.read_text("f") == "longer than it seemed"


def test_a_file_that_a_server_makes_just_then_is_written_to(
    workspace: Workspace, files: Path, monkeypatch: pytest.MonkeyPatch
):
    real = ConfinedRoot.create_file

    def late(self: ConfinedRoot, key: str, flags: int) -> int:
        (files / key).write_text("by a server ")
        return real(self, key, flags)

    monkeypatch.setattr(ConfinedRoot, "create_file", late)
    with workspace.open("f", "a") as file:
        file.write("and by us")
    assert workspace.read_text("f") == "by a server and by us"
    with pytest.raises(WorkspaceError, match="exists already"):
        workspace.open("g", "x")


def test_a_file_that_is_always_made_and_removed_is_an_error_in_the_end(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    def taken(*_: object) -> int:
        raise FileExistsError

    monkeypatch.setattr(ConfinedRoot, "create_file", taken)
    with pytest.raises(WorkspaceError, match="keeps changing"):
        workspace.open("f", "w")


@pytest.mark.parametrize("in_a_call", [True, False])
def test_what_cannot_be_put_in_place_leaves_nothing_behind(
    workspace: Workspace, files: Path, monkeypatch: pytest.MonkeyPatch, in_a_call: bool
):
    def unwilling(*_: object, **__: object) -> None:
        raise OSError(5, "the disk failed")

    workspace.write_text("f", "old")
    monkeypatch.setattr(module.History, "replace", unwilling)
    monkeypatch.setattr(module.History, "before_writing", unwilling)
    call = Transaction()
    with in_call(call):
        for act in (
            lambda: workspace.write_text("f", "new" * 5000),
            lambda: workspace.open("f", "w"),
            lambda: workspace.open("f", "a"),
        ):
            with pytest.raises(WorkspaceError, match="the disk failed"):
                act()
    monkeypatch.undo()
    assert workspace.read_text("f") == "old"
    assert slots(files.parent) == []
    assert used(workspace) == BLOCK


@pytest.mark.parametrize(
    ("path", "to", "why"),
    [
        ("nothing", "x", "/workspace/nothing was not found"),
        ("d", "d/e", "cannot be put there"),
        ("d", "d/e/f", "cannot be put there"),
        ("f", "d", "is a folder"),
        ("d", "f", "is no folder"),
        ("d", "full", "not empty"),
        ("f", "/workspace", "exists already"),
        ("f", "f/x", "is no folder"),
        ("f", "g/x", "/workspace/g/x is no folder"),
        ("/workspace", "x", "itself stays"),
    ],
)
@pytest.mark.parametrize("in_a_call", [True, False])
def test_what_cannot_be_renamed_is_told_with_the_name_that_is_wrong(
    workspace: Workspace, files: Path, path: str, to: str, why: str, in_a_call: bool
):
    for name in ("f", "g", "full/f"):
        workspace.write_text(name, name)
    workspace.make_folder("d")
    before = tree(files)
    call = Transaction()
    if not in_a_call:
        call.commit()
    with in_call(call), pytest.raises(WorkspaceError, match=why):
        workspace.rename(path, to)
    assert tree(files) == before


@pytest.mark.parametrize("in_a_call", [True, False])
def test_a_folder_is_renamed_with_all_that_is_in_it(workspace: Workspace, files: Path, in_a_call: bool):
    (files / "d").mkdir()
    (files / "d" / "l").symlink_to("e")
    workspace.write_text("d/e/f", "deep")
    workspace.make_folder("empty")
    call = Transaction()
    if not in_a_call:
        call.commit()
    before = tree(files)
    with in_call(call):
        workspace.rename("d", "to/here")
        workspace.rename("to", "empty")
        workspace.rename("empty", "empty")
    assert tree(files) == {
        "empty": None,
        "empty/here": None,
        "empty/here/e": None,
        "empty/here/e/f": "deep",
        "empty/here/l": "-> e",
    }
    assert used(workspace) == workspace._files._quota._count()
    if in_a_call:
        call.rollback()
        assert tree(files) == before
        assert used(workspace) == workspace._files._quota._count()


def test_hard_links_and_pipes_are_not_replaced(workspace: Workspace, files: Path, outside: Path):
    os.link(outside / "secret.txt", files / "h")
    os.mkfifo(files / "p")
    for name in ("h", "p"):
        with pytest.raises(PathRefused):
            workspace.write_text(name, "x")


def test_a_tree_is_deleted_with_what_no_agent_can_name(workspace: Workspace, files: Path):
    (files / "d" / "deeper").mkdir(parents=True)
    (files / "d" / "a\nb").write_text("")
    Path(os.fsdecode(bytes(files / "d") + b"/\xff")).write_text("")
    os.mkfifo(files / "d" / "deeper" / "p")
    assert [entry.kind for entry in workspace.list("d")] == ["other", "other", "folder"]
    workspace.delete_tree("d")
    workspace.write_text("f", "x")
    workspace.delete_tree("f")
    assert workspace.list() == ()


def test_a_folder_that_is_there_will_do(workspace: Workspace):
    workspace.make_folder("a/b")
    workspace.make_folder("a/b")
    workspace.make_folder("/workspace")
    with pytest.raises(WorkspaceError, match="exists already"):
        workspace.make_folder("a", parents=False)
    with pytest.raises(WorkspaceError, match="not found"):
        workspace.make_folder("c/d", parents=False)
    workspace.write_text("f", "")
    with pytest.raises(WorkspaceError, match="exists already"):
        workspace.make_folder("f")


def test_what_cannot_be_counted_lets_nothing_be_added(workspace: Workspace, files: Path):
    fd = os.open(files, os.O_RDONLY)
    for name in ["deep", *["x" * 200] * 40]:
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    with pytest.raises(WorkspaceError, match="cannot be counted"):
        workspace.write_text("f", "x")
    with pytest.raises(PathRefused, match="too long a name"):
        workspace.delete_tree("deep")
    assert [entry.name for entry in workspace.list()] == ["deep"]
    shutil.rmtree(files / "deep")
    workspace.write_text("f", "x")


def test_each_kind_is_told(tmp_path: Path):
    (tmp_path / "f").write_text("four")
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("f")
    os.mkfifo(tmp_path / "p")
    (tmp_path / "h").write_text("two names")
    os.link(tmp_path / "h", tmp_path / "h2")
    found = {path.name: entry_of(path.name, path.lstat()) for path in tmp_path.iterdir()}
    kinds = {name: (entry.kind, entry.size) for name, entry in found.items()}
    assert kinds == {
        "f": ("file", 4),
        "d": ("folder", 0),
        "l": ("link", 0),
        "p": ("other", 0),
        "h": ("other", 0),
        "h2": ("other", 0),
    }
    assert found["f"].modified == (tmp_path / "f").stat().st_mtime


def test_a_name_that_no_agent_can_write_is_shown_with_escapes(tmp_path: Path):
    status = tmp_path.stat()
    assert entry_of("a\nb", status).name == "a\\nb"
    assert entry_of("\udcff", status).name == "\\udcff"
    assert entry_of("\udcff", status).kind == "other"
