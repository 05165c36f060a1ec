"""Replacing a file in one step."""

import stat
from pathlib import Path

import pytest

from bascule.config.editing.atomic_write import replace_file


def test_a_file_keeps_who_may_read_it(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, "new", 0o600)

    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)


def test_a_new_file_is_for_whom_it_is_said_to_be(tmp_path: Path):
    path = tmp_path / "folder" / "a"
    replace_file(path, "new", 0o600)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_fails_leaves_nothing_behind(tmp_path: Path):
    folder = tmp_path / "a"
    folder.mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(folder, "new")

    assert [*tmp_path.iterdir()] == [folder]
