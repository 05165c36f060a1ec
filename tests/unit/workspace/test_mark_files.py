"""Files of level marks: replaced whole, read without a wait, and in doubt where they are anything else than a mark."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.level_mark import LOST, NOT_A_MARK, OF_ANOTHER, Absent, LevelMark, Unusable
from bascule.workspace.mark_files import LOCK, MARK, NOTES, MarkFiles
from bascule.workspace.workspace import Workspace, home_name
from support.irregular import KINDS, put
from support.plain_user import plain_user, this_python

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
STORE = "0123456789abcdef"


def mark(level: DataSensitivity, epoch: int = 1, who: Principal = ALICE) -> LevelMark:
    return LevelMark(who.user_id, who.session_id, level, epoch, STORE)


@pytest.fixture
def files(tmp_path: Path) -> MarkFiles:
    return MarkFiles(tmp_path / "workspaces", tmp_path / "state")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace with one file."""
    return made(tmp_path, ALICE)


def made(folder: Path, who: Principal) -> Path:
    with Workspace.of(who, folder / "workspaces") as workspace:
        workspace.write_text("notes.md", "private")
    return folder / "workspaces" / home_name(who)


def written(files: MarkFiles, marked: LevelMark) -> None:
    with files.locked(Principal(marked.user_id, marked.session_id)):
        files.write(marked)


def test_where_there_is_no_workspace_there_is_no_mark(files: MarkFiles):
    assert files.find(ALICE) is Absent.NO_WORKSPACE
    assert files.find(Nobody("bascule", "trial")) is Absent.NO_WORKSPACE
    assert files.homes() == frozenset()


def test_a_mark_that_was_written_is_found_and_closed_to_others(files: MarkFiles, home: Path):
    written(files, mark(CONFIDENTIAL))
    assert files.find(ALICE) == mark(CONFIDENTIAL)
    assert stat.S_IMODE((home / MARK).stat().st_mode) == 0o600
    written(files, mark(SECRET, 2))
    assert files.find(ALICE) == mark(SECRET, 2)
    assert {path.name for path in home.iterdir()} == {"attic", "files", MARK, LOCK}


def test_a_process_with_the_same_keys_reads_it_and_one_with_others_does_not(
    files: MarkFiles, home: Path, tmp_path: Path
):
    written(files, mark(CONFIDENTIAL))
    assert MarkFiles(tmp_path / "workspaces", tmp_path / "state").find(ALICE) == mark(CONFIDENTIAL)
    assert MarkFiles(tmp_path / "workspaces", tmp_path / "another").find(ALICE) == Unusable(NOT_A_MARK)


def test_a_workspace_without_a_mark_is_in_doubt_only_once_all_have_theirs(files: MarkFiles, home: Path):
    assert files.find(ALICE) is Absent.UNMARKED
    files.write_note(STORE)
    assert files.find(ALICE) == Unusable(LOST)
    (home / "files/notes.md").unlink()
    assert files.find(ALICE) is Absent.UNMARKED
    (home / "files").rmdir()
    assert files.find(ALICE) is Absent.UNMARKED


def test_the_note_is_that_of_one_store_and_one_folder(files: MarkFiles, tmp_path: Path):
    files.write_note(STORE)
    for root, store, known in (("workspaces", STORE, True), ("workspaces", "other", False), ("else", STORE, False)):
        again = MarkFiles(tmp_path / root, tmp_path / "state")
        again.read_note(store)
        assert again.complete is known
    (note,) = (tmp_path / "state" / NOTES).iterdir()
    assert note.read_text() == f"store {STORE}\nworkspaces {tmp_path / 'workspaces'}\n"


def test_a_new_workspace_gets_its_mark_once(files: MarkFiles, home: Path):
    files.make(mark(INTERNAL))
    assert files.find(ALICE) == mark(INTERNAL)
    files.make(mark(PUBLIC))
    assert files.find(ALICE) == mark(INTERNAL)


def test_a_mark_that_was_lost_is_not_made_again(files: MarkFiles, home: Path):
    files.write_note(STORE)
    files.make(mark(PUBLIC))
    assert files.find(ALICE) == Unusable(LOST)


# Something else in its place


@pytest.mark.parametrize("kind", [*KINDS, "a link to a mark"])
def test_what_is_no_regular_file_is_in_doubt_and_replaced_by_a_declassification(
    files: MarkFiles, home: Path, kind: str
):
    written(files, mark(PUBLIC))
    if kind == "a link to a mark":
        (home / MARK).rename(home / "moved")
        (home / MARK).symlink_to("moved")
    else:
        put(kind, home / MARK)
    found = files.find(ALICE)
    assert isinstance(found, Unusable)
    assert "level mark" in found.reason

    written(files, mark(PUBLIC, 2))
    assert files.find(ALICE) == mark(PUBLIC, 2)


def test_a_mark_of_another_user_is_in_doubt(files: MarkFiles, home: Path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    written(files, mark(PUBLIC))
    os.chown(home / MARK, 65534, 65534)
    found = files.find(ALICE)
    assert isinstance(found, Unusable)
    assert "belongs to another user" in found.reason


CLOSED = """
import os, sys
from pathlib import Path
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.level_mark import LevelMark
from bascule.workspace.mark_files import MarkFiles
from bascule.workspace.workspace import Workspace
folder, who = Path(sys.argv[1]), Principal("alice", "s-1")
with Workspace.of(who, folder / "workspaces") as workspace:
    workspace.write_text("notes.md", "private")
files = MarkFiles(folder / "workspaces", folder / "state")
with files.locked(who):
    files.write(LevelMark("alice", "s-1", DataSensitivity.PUBLIC, 0, "a store"))
(mark,) = folder.glob("workspaces/*/level")
for path in (mark, mark.parent, folder / "workspaces"):
    path.chmod(0)
    print(files.find(who))
    path.chmod(0o700)
"""


def test_a_mark_that_may_not_be_read_is_in_doubt():
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        argv = [*plain_user(), sys.executable, "-c", CLOSED, folder]
        ran = subprocess.run(argv, check=False, env=dict(this_python()), capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    found = ran.stdout.splitlines()
    assert len(found) == 3
    assert ["Permission denied" in line for line in found] == [True] * 3


def test_a_mark_that_was_swapped_is_that_of_another(files: MarkFiles, home: Path, tmp_path: Path):
    other = made(tmp_path, BOB)
    written(files, mark(SECRET))
    written(files, mark(PUBLIC, who=BOB))
    for path in (home, other):
        (path / MARK).rename(path / "kept")
    (home / "kept").rename(other / MARK)
    (other / "kept").rename(home / MARK)
    assert (files.find(ALICE), files.find(BOB)) == (Unusable(OF_ANOTHER), Unusable(OF_ANOTHER))


def test_a_folder_that_is_a_link_is_in_doubt_and_nothing_is_written_through_it(
    files: MarkFiles, home: Path, tmp_path: Path
):
    written(files, mark(PUBLIC))
    home.rename(tmp_path / "moved")
    home.symlink_to(tmp_path / "moved")
    assert isinstance(files.find(ALICE), Unusable)
    with pytest.raises(OSError, match="something else"), files.locked(ALICE):
        pass


# The lock


def ticking() -> Callable[[], float]:
    ticks = count()
    return lambda: float(next(ticks))


def test_a_lock_that_another_holds_for_too_long_is_an_error(files: MarkFiles, home: Path, tmp_path: Path):
    others = MarkFiles(tmp_path / "workspaces", tmp_path / "state", clock=ticking())
    with files.locked(ALICE), pytest.raises(OSError, match="holds its lock"), others.locked(ALICE):
        pass
    with others.locked(ALICE):
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_no_regular_file_is_an_error(files: MarkFiles, home: Path, kind: str):
    put(kind, home / LOCK)
    with pytest.raises(OSError, match="regular file"), files.locked(ALICE):
        pass
