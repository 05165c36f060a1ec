"""The folder of one agent session."""

import os
from pathlib import Path

import pytest

from bascule.core.errors import UsageError, WorkspaceError
from bascule.core.principal import Nobody, Principal
from bascule.workspace import directory as module
from bascule.workspace.directory import Home, home_name
from support.workspaces import open_descriptors, texts


def test_a_name_is_the_same_for_the_same_two_ids_and_for_no_others():
    names = [
        home_name(Principal(user, session))
        for user, session in (("a", "bc"), ("ab", "c"), ("abc", "x"), ("bc", "a"), ("ä", "bc"), ("a", "b"))
    ]
    assert len(set(names)) == len(names)
    assert home_name(Principal("a", "bc")) == names[0]
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in names)


def test_nobody_has_none():
    with pytest.raises(UsageError, match="nobody"):
        home_name(Nobody("a", "b"))


def opened(path: Path) -> None:
    home = Home(path)
    os.close(home.files)
    home.close()
    home.close()


def test_it_is_made_for_its_owner_alone(tmp_path: Path):
    opened(tmp_path / "root" / "home")
    for folder in ("root", "root/home", "root/home/files"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700


def test_one_that_others_could_look_into_is_closed_to_them(tmp_path: Path):
    (tmp_path / "home").mkdir(mode=0o755)
    opened(tmp_path / "home")
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_the_folders_above_may_be_links(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    opened(tmp_path / "root" / "home")
    assert (tmp_path / "real" / "home" / "files").is_dir()


def test_a_bare_one_is_the_files_themselves_and_nothing_is_made(tmp_path: Path):
    (tmp_path / "shown").mkdir(mode=0o755)
    home = Home(tmp_path / "shown", bare=True)
    assert os.path.samestat(os.fstat(home.files), (tmp_path / "shown").stat())
    assert [*(tmp_path / "shown").iterdir()] == []
    assert (tmp_path / "shown").stat().st_mode & 0o777 == 0o755
    os.close(home.files)
    home.close()
    with pytest.raises(WorkspaceError, match="could not be opened"):
        Home(tmp_path / "not shown", bare=True)


def refused(path: Path) -> WorkspaceError:
    with pytest.raises(WorkspaceError, match="could not be opened") as caught:
        Home(path)
    assert open_descriptors(path.parent) == 0
    assert not [text for text in texts(caught.value) if str(path.parent) in text]
    return caught.value


@pytest.mark.parametrize("place", ["home", "home/files"])
def test_a_link_in_its_place_is_refused(tmp_path: Path, place: str):
    (tmp_path / "elsewhere" / "files").mkdir(parents=True)
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).symlink_to(tmp_path / "elsewhere")
    refused(tmp_path / "home")


def test_a_file_in_its_place_is_refused(tmp_path: Path):
    (tmp_path / "home").write_text("")
    refused(tmp_path / "home")


def test_one_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(module.os, "geteuid", lambda: 4711)
    assert "another user" in refused(tmp_path / "home").evidence


def test_files_on_another_disk_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.fstat

    def elsewhere(fd: int) -> os.stat_result:
        status = real(fd)
        name = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115
        return status if not name.endswith("files") else os.stat("/proc")  # noqa: PTH116

    monkeypatch.setattr(module.os, "fstat", elsewhere)
    assert "another disk" in refused(tmp_path / "home").evidence
