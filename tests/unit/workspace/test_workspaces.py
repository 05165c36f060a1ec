"""The workspaces of all agent sessions of one runtime."""

from pathlib import Path

import pytest

from bascule.core.errors import NoRoom, StoreError, WorkspaceError
from bascule.core.principal import Principal
from bascule.workspace.workspaces import BoxedWorkspace, Workspaces

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


def test_each_principal_has_one_and_the_same(tmp_path: Path):
    workspaces = Workspaces(tmp_path)
    assert workspaces.of(ALICE) is workspaces.of(Principal("alice", "s-1"))
    assert workspaces.of(ALICE) is not workspaces.of(BOB)
    workspaces.of(ALICE).write_text("a", "hers")
    assert not workspaces.of(BOB).exists("a")
    workspaces.close()


def test_what_was_closed_is_opened_anew_with_its_files(tmp_path: Path):
    workspaces = Workspaces(tmp_path)
    first, bobs = workspaces.of(ALICE), workspaces.of(BOB)
    first.write_text("a", "hers")
    workspaces.close(ALICE)
    workspaces.close(ALICE)
    assert workspaces.of(ALICE) is not first
    assert workspaces.of(ALICE).read_text("a") == "hers"
    assert workspaces.of(BOB) is bobs
    workspaces.close()


def test_they_lie_where_the_config_says_or_in_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for root, place in ((None, "state/workspaces"), (str(tmp_path / "own"), "own"), ("~/w", "home/w")):
        workspaces = Workspaces.at(root, tmp_path / "state", quota=8192)
        workspaces.of(ALICE).write_text("a", "x")
        with pytest.raises(NoRoom):
            workspaces.of(ALICE).write_bytes("b", b"x" * 9000)
        assert len(list((tmp_path / place).iterdir())) == 1
        workspaces.close()


def test_in_a_box_there_is_one_folder_and_one_to_whom_it_belongs(tmp_path: Path):
    workspaces = BoxedWorkspace(tmp_path, quota=8192)
    workspaces.of(ALICE).write_text("/workspace/a", "hers")
    with pytest.raises(NoRoom):
        workspaces.of(ALICE).write_bytes("b", b"x" * 9000)
    with pytest.raises(WorkspaceError, match="another agent session"):
        workspaces.of(BOB)
    workspaces.close()

    assert (tmp_path / "a").read_text() == "hers"
    # Nor after all that was open is closed.
    with pytest.raises(WorkspaceError, match="another agent session"):
        workspaces.of(BOB)
    assert workspaces.of(ALICE).read_text("a") == "hers"
    workspaces.close()


def test_the_level_mark_is_made_before_the_files_are_given_out(tmp_path: Path):
    workspaces, made = Workspaces(tmp_path), list[Principal]()
    workspaces.make_mark = made.append
    workspaces.of(ALICE)
    workspaces.of(ALICE)
    assert made == [ALICE]
    workspaces.close()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), StoreError("/home/ada/keys is gone")])
def test_without_its_level_mark_no_workspace_is_given_out(tmp_path: Path, error: Exception):
    def fail(_: Principal) -> None:
        raise error

    workspaces = Workspaces(tmp_path)
    workspaces.make_mark = fail
    with pytest.raises(WorkspaceError, match="level mark") as caught:
        workspaces.of(ALICE)
    assert str(tmp_path) not in caught.value.evidence
    assert "/home" not in caught.value.evidence
    workspaces.make_mark = None
    workspaces.of(ALICE)
    workspaces.close()
