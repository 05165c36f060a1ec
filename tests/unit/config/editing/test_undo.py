"""Taking changes of files back."""

import stat
from pathlib import Path

import pytest

from bascule.config.editing.undo import MOST, Change, remember, undo
from bascule.core.errors import ConfigError, UsageError


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def changed(state: Path, path: Path, after: str) -> Path:
    before = path.read_text() if path.exists() else None
    record = remember(state, path, [Change(path, before, after)])
    path.write_text(after)
    return record


def test_changes_are_taken_back_one_by_one(tmp_path: Path, state: Path):
    path = tmp_path / "a"
    changed(state, path, "one\n")
    changed(state, path, "one\r\ntwo\r\n")

    assert undo(state, path).restored == (path,)
    assert path.read_text() == "one\n"
    assert undo(state, path).removed == (path,)
    assert not path.exists()
    with pytest.raises(UsageError, match="no import into"):
        undo(state, path)


def test_a_file_that_was_changed_since_stays_as_it_is(tmp_path: Path, state: Path):
    path, other = tmp_path / "a", tmp_path / "b"
    record = remember(state, path, [Change(path, None, "x"), Change(other, None, "y")])
    path.write_text("x")
    other.write_text("edited")
    with pytest.raises(UsageError, match=r"b was changed since") as refused:
        undo(state, path)

    assert (path.read_text(), other.read_text()) == ("x", "edited")
    assert str(record) in refused.value.fix


def test_a_file_that_is_gone_is_not_made_again(tmp_path: Path, state: Path):
    path = tmp_path / "a"
    changed(state, path, "x")
    path.unlink()
    with pytest.raises(UsageError, match="was changed since"):
        undo(state, path)


def test_what_was_before_is_for_the_user_alone(tmp_path: Path, state: Path):
    record = changed(state, tmp_path / "a", "x")

    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700


def test_the_oldest_are_forgotten(tmp_path: Path, state: Path):
    path = tmp_path / "a"
    records = [changed(state, path, str(number)) for number in range(MOST + 3)]

    assert [record.exists() for record in records] == [False] * 3 + [True] * MOST


def test_where_nothing_can_be_remembered_nothing_is_done(tmp_path: Path, state: Path):
    state.write_text("in the way")
    with pytest.raises(ConfigError, match="cannot be written"):
        changed(state, tmp_path / "a", "x")

    assert not (tmp_path / "a").exists()
