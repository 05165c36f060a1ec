"""Changes of a workspace, each made so that the call in whose course it is made can undo it."""

from pathlib import Path

import pytest

from bascule.core.errors import WorkspaceError
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.undo import journal
from support.workspaces import in_call, slots, tree


@pytest.fixture(params=[True, False], ids=["exchanging", "copying"])
def workspace(request: pytest.FixtureRequest, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Where the system can exchange two files in one step, and where it cannot."""
    if not request.param:
        monkeypatch.setattr(ConfinedRoot, "swap", lambda *_: False)
    for path in ("a", "b", "d/x"):
        workspace.write_text(path, f"old {path}")
    return workspace


def change_everything(workspace: Workspace) -> None:
    workspace.write_text("a", "new")
    workspace.write_text("a", "newer")
    with workspace.open("b", "a") as file:
        file.write(" and more")
    workspace.delete_tree("d")
    workspace.write_text("d", "a file where a folder was")
    workspace.write_text("new/folder/f", "made")
    workspace.rename("a", "new/a")
    with workspace.open("b", "w") as file:
        file.write("renewed")
    workspace.make_folder("e")


def test_a_call_that_fails_has_changed_nothing(workspace: Workspace, files: Path):
    before = tree(files)
    call = Transaction()
    with in_call(call):
        change_everything(workspace)
    assert tree(files) != before
    assert call.rollback() == (Ending.RESTORED, ())
    assert tree(files) == before
    assert slots(files.parent) == []


def test_a_call_that_succeeds_has_changed_everything(workspace: Workspace, files: Path):
    call = Transaction()
    with in_call(call):
        change_everything(workspace)
    after = tree(files)
    assert call.commit() == (Ending.KEPT, ())
    assert tree(files) == after
    assert slots(files.parent) == []


def test_who_only_reads_takes_no_part(workspace: Workspace):
    call = Transaction()
    with in_call(call):
        workspace.read_text("a")
        workspace.list()
        workspace.stat("a")
        workspace.open("a").close()
    assert call.rollback() == (Ending.NOTHING, ())


def test_what_is_changed_outside_of_a_call_is_not_undone(workspace: Workspace, files: Path):
    call = Transaction()
    with in_call(call):
        workspace.write_text("a", "in the call")
        workspace.write_text("b", "in the call")
        workspace.rename("d/x", "x")
    workspace.write_text("a", "for good")
    workspace.delete("x")
    call.rollback()
    assert tree(files) == {"a": "for good", "b": "old b", "d": None, "d/x": "old d/x"}
    assert slots(files.parent) == []


def test_a_call_does_not_undo_what_another_has_done_since(workspace: Workspace):
    first, second = Transaction(), Transaction()
    with in_call(first):
        workspace.write_text("a", "first")
    with in_call(second):
        workspace.write_text("a", "second")
    first.rollback()
    assert workspace.read_text("a") == "second"
    second.rollback()
    assert workspace.read_text("a") == "old a"


def test_what_another_has_kept_over_it_stays(workspace: Workspace):
    first, second = Transaction(), Transaction()
    with in_call(first):
        workspace.write_text("a", "first")
    with in_call(second):
        workspace.write_text("a", "second")
    second.commit()
    first.rollback()
    assert workspace.read_text("a") == "second"


def test_a_folder_stays_as_long_as_another_call_has_something_in_it(workspace: Workspace):
    first, second, third = Transaction(), Transaction(), Transaction()
    with in_call(first):
        workspace.write_text("new/f", "first")
    with in_call(second):
        workspace.write_text("new/g", "second")
    first.rollback()
    assert [entry.name for entry in workspace.list("new")] == ["g"]
    with in_call(third):
        workspace.make_folder("new")
    second.rollback()
    assert workspace.list("new") == ()
    third.commit()
    assert workspace.exists("new")


def test_a_folder_that_nobody_keeps_anything_in_goes(workspace: Workspace):
    first, second = Transaction(), Transaction()
    with in_call(first):
        workspace.write_text("new/f", "first")
    with in_call(second):
        workspace.write_text("new/g", "second")
        workspace.delete("new/g")
    first.rollback()
    second.commit()
    assert not workspace.exists("new")


def test_a_folder_in_which_something_is_kept_stays(workspace: Workspace):
    first, second = Transaction(), Transaction()
    with in_call(first):
        workspace.write_text("new/f", "first")
    with in_call(second):
        workspace.write_text("new/g", "second")
    first.rollback()
    second.commit()
    assert workspace.read_text("new/g") == "second"


def test_what_is_needed_where_another_put_a_file_comes_back_with_its_folder(workspace: Workspace, files: Path):
    before = tree(files)
    first, second = Transaction(), Transaction()
    with in_call(first):
        workspace.delete("d/x")
    with in_call(second):
        workspace.delete("d")
        workspace.write_text("d", "a file")
    first.rollback()
    assert workspace.read_text("d") == "a file"
    second.rollback()
    assert tree(files) == before


def test_what_cannot_be_put_back_is_told_and_keeps_nothing_else_from_it(
    workspace: Workspace, files: Path, monkeypatch: pytest.MonkeyPatch
):
    call = Transaction()
    with in_call(call):
        workspace.write_text("a", "new")
        workspace.write_text("b", "new")
    real = ConfinedRoot.put_in

    def unwilling(self: ConfinedRoot, come_from: int, slot: str, key: str) -> None:
        if key == "a":
            raise OSError(5, "the disk failed")
        real(self, come_from, slot, key)

    monkeypatch.setattr(ConfinedRoot, "put_in", unwilling)
    ending, problems = call.rollback()
    assert ending is Ending.FAILED
    assert problems == ("/workspace/a could not be put back",)
    assert workspace.read_text("b") == "old b"
    assert len(slots(files.parent)) == 1


def test_a_rename_that_fails_half_way_leaves_both_as_they_were(
    workspace: Workspace, files: Path, monkeypatch: pytest.MonkeyPatch
):
    def unwilling(*_: object) -> None:
        raise OSError(5, "the disk failed")

    before = tree(files)
    monkeypatch.setattr(ConfinedRoot, "rename", unwilling)
    with in_call(Transaction()), pytest.raises(WorkspaceError, match="the disk failed"):
        workspace.rename("a", "b")
    assert tree(files) == before


def test_a_folder_that_comes_to_lie_there_just_then_is_not_taken_for_a_file(
    files: Path, monkeypatch: pytest.MonkeyPatch
):
    with Workspace(files.parent) as workspace:
        workspace.write_text("a", "old")
        real, late = journal.History._exchanged, list[str]()

        def exchanged(self: journal.History, *args: str) -> None:
            late.append("a")
            (files / "a").unlink()
            (files / "a").mkdir()
            real(self, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(journal.History, "_exchanged", exchanged)
        with in_call(Transaction()), pytest.raises(WorkspaceError, match="is a folder"):
            workspace.write_text("a", "new")
        assert late == ["a"]
        assert (files / "a").is_dir()


def test_each_workspace_takes_part_by_itself(workspace: Workspace, tmp_path: Path):
    call = Transaction()
    with Workspace(tmp_path / "other") as other:
        with in_call(call):
            workspace.write_text("a", "new")
            other.write_text("a", "new")
        call.rollback()
        assert workspace.read_text("a") == "old a"
        assert not other.exists("a")
