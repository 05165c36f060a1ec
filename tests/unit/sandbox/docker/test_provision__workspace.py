"""Files that are given to somebody."""

import os
from pathlib import Path

import pytest

from bascule.sandbox.docker.provision import hand_over

SOMEBODY = 65532

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def owner(path: Path) -> int:
    return path.lstat().st_uid


def test_everything_in_the_folder_becomes_somebodys_own(tmp_path: Path):
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    (home / "deep" / "file").write_text("x")

    hand_over(home, SOMEBODY, SOMEBODY)

    assert {owner(path) for path in (home, home / "deep", home / "deep" / "file")} == {SOMEBODY}
    assert (home / "deep" / "file").stat().st_gid == SOMEBODY


def test_no_link_leads_out(tmp_path: Path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "file").write_text("x")
    (home / "file").symlink_to(outside / "file")
    (home / "folder").symlink_to(outside)

    hand_over(home, SOMEBODY, SOMEBODY)

    assert (owner(outside), owner(outside / "file")) == (0, 0)
    assert owner(home / "folder") == SOMEBODY


def test_a_file_with_another_name_elsewhere_stays_whose_it_is(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "key").write_text("x")
    os.link(tmp_path / "key", home / "key")

    hand_over(home, SOMEBODY, SOMEBODY)

    assert owner(tmp_path / "key") == 0
