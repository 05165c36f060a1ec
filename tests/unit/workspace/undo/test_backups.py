"""Backups of a workspace's files, and copies of whole files."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.undo import backups
from bascule.workspace.undo import backups as module
from bascule.workspace.undo.backups import KEPT_ASIDE, Attic, copy, finish_restores, remove_leftovers, write_all
from support.workspaces import tree


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(exist_ok=True)
    return tmp_path / "home"


@pytest.fixture
def home_fd(home: Path) -> Iterator[int]:
    fd = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def attic(home_fd: int) -> Iterator[Attic]:
    attic = Attic(home_fd)
    yield attic
    attic.close()


def folder_of(home: Path) -> Path:
    (folder,) = (home / "attic").iterdir()
    return folder


def test_nothing_is_made_before_it_is_needed(attic: Attic, home: Path):
    assert list(home.iterdir()) == []
    attic.drop(attic.write(b"x", None))
    assert (home / "attic").stat().st_mode & 0o777 == 0o700
    assert folder_of(home).stat().st_mode & 0o777 == 0o700


def test_what_is_written_lies_in_a_slot_until_it_is_dropped(attic: Attic, home: Path):
    slot = attic.write(b"content", 0o640)
    assert (folder_of(home) / slot).read_bytes() == b"content"
    assert attic.status(slot).st_mode & 0o777 == 0o640
    attic.drop(slot)
    attic.drop(slot)
    assert list(folder_of(home).iterdir()) == []


def test_a_copy_has_the_mode_and_the_time_of_its_file(attic: Attic, root: ConfinedRoot, files: Path, home: Path):
    (files / "f").write_text("content")
    (files / "f").chmod(0o751)
    os.utime(files / "f", (1, 2))
    slot = attic.copy_of(root, "f")
    status = attic.status(slot)
    assert (status.st_mode & 0o777, status.st_mtime) == (0o751, 2)
    assert (folder_of(home) / slot).read_text() == "content"


def test_a_copy_of_a_link_is_a_link(attic: Attic, root: ConfinedRoot, files: Path, home: Path):
    (files / "l").symlink_to("nowhere")
    slot = attic.copy_of(root, "l")
    assert (folder_of(home) / slot).readlink() == Path("nowhere")


def test_what_could_not_be_written_is_not_left(
    attic: Attic, root: ConfinedRoot, files: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    (files / "f").write_text("content")
    monkeypatch.setattr(module, "write_all", full)
    monkeypatch.setattr(module, "copy", full)
    with pytest.raises(OSError, match="full"):
        attic.write(b"x", None)
    with pytest.raises(OSError, match="full"):
        attic.copy_of(root, "f")
    assert list(folder_of(home).iterdir()) == []


def test_the_index_says_what_lies_in_which_slot(attic: Attic, home: Path):
    attic.note("0", "a/b")
    attic.note("1", "ü")
    lines = [json.loads(line) for line in (folder_of(home) / "index").read_text().splitlines()]
    assert lines == [{"slot": "0", "path": "/workspace/a/b"}, {"slot": "1", "path": "/workspace/ü"}]


def test_when_it_is_closed_nothing_is_left_but_what_somebody_may_miss(home_fd: int, home: Path):
    first, second = Attic(home_fd), Attic(home_fd)
    first.note(first.write(b"original", None), "a")
    second.note("0", "b")
    for attic in (first, second):
        attic.close()
        attic.close()
    assert sorted(path.name for path in folder_of(home).iterdir()) == ["0", "index"]


def left(home: Path, name: str, when: int, *, originals: int = 1) -> None:
    folder = home / "attic" / name
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "deeper" / "f").write_text("")
    (folder / "index").write_text("")
    if not originals:
        (folder / "deep" / "deeper" / "f").unlink()
        (folder / "deep" / "deeper").rmdir()
        (folder / "deep").rmdir()
    os.utime(folder, (when, when))


def test_of_what_was_left_behind_the_last_few_are_kept(attic: Attic, home: Path):
    for number in range(KEPT_ASIDE + 2):
        left(home, f"old{number}", number)
    left(home, "bare", 99, originals=0)
    _ = attic.fd
    names = {path.name for path in (home / "attic").iterdir()}
    assert {name for name in names if name.startswith("old")} == {f"old{n}" for n in range(2, KEPT_ASIDE + 2)}
    assert len(names) == KEPT_ASIDE + 1


def test_what_somebody_holds_is_left_alone(attic: Attic, home: Path):
    left(home, "alive", 1, originals=0)
    held = os.open(home / "attic" / "alive", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        _ = attic.fd
        assert (home / "attic" / "alive").exists()
    finally:
        os.close(held)


def test_a_tree_deeper_than_any_path_is_deleted(attic: Attic, home: Path):
    slot = attic.slot()
    fd = os.dup(attic.fd)
    for name in [slot, *["x" * 200] * 40]:
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    attic.drop(slot)
    assert list(folder_of(home).iterdir()) == []


def test_a_folder_that_another_process_takes_for_a_left_one_is_made_again(
    attic: Attic, home: Path, monkeypatch: pytest.MonkeyPatch
):
    real, taken = module._held, list[str]()

    def late(folder: int, name: str) -> int:
        fd = real(folder, name)
        if not taken:
            taken.append(name)
            os.rmdir(name, dir_fd=folder)
        return fd

    monkeypatch.setattr(module, "_held", late)
    attic.drop(attic.write(b"x", None))
    assert folder_of(home).name != taken[0]


CONTENT = os.urandom(3 * 1024 * 1024 + 17)


def copied(tmp_path: Path) -> bytes:
    (tmp_path / "source").write_bytes(CONTENT)
    with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("wb") as target:
        source.seek(5)
        copy(source.fileno(), target.fileno())
        assert source.tell() == 5
    return (tmp_path / "target").read_bytes()


def test_a_file_is_copied_whole(tmp_path: Path):
    assert copied(tmp_path) == CONTENT


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ENOSYS])
def test_where_the_kernel_does_not_copy_it_is_done_by_hand(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unwilling(*_: int) -> int:
        raise OSError(number, "not here")

    monkeypatch.setattr(backups.os, "copy_file_range", unwilling)
    assert copied(tmp_path) == CONTENT


def test_a_system_that_cannot_copy_at_all_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(backups.os, "copy_file_range")
    assert copied(tmp_path) == CONTENT


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: int) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(backups.os, "copy_file_range", full)
    with pytest.raises(OSError, match="full"):
        copied(tmp_path)


def test_what_the_kernel_takes_in_pieces_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    monkeypatch.setattr(backups.os, "write", lambda fd, data: real(fd, data[:3]))
    with (tmp_path / "f").open("wb") as file:
        assert write_all(file.fileno(), b"0123456789") == 10
    assert (tmp_path / "f").read_bytes() == b"0123456789"


def test_what_is_held_or_fresh_in_the_reserved_folder_stays(root: ConfinedRoot, files: Path):
    for name in ("fresh", "held", "left"):
        (files / ".bascule" / name).mkdir(parents=True)
        (files / ".bascule" / name / "0").write_text("half")
        os.utime(files / ".bascule" / name, (1, 1))
    os.utime(files / ".bascule" / "fresh")
    held = os.open(files / ".bascule" / "held", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        remove_leftovers(root)
    finally:
        os.close(held)
    assert {path.name for path in (files / ".bascule").iterdir()} == {"fresh", "held"}


def test_a_link_in_place_of_the_reserved_folder_leads_nowhere(root: ConfinedRoot, files: Path, tmp_path: Path):
    (tmp_path / "outside" / "folder").mkdir(parents=True)
    os.utime(tmp_path / "outside" / "folder", (1, 1))
    (files / ".bascule").symlink_to(tmp_path / "outside")
    remove_leftovers(root)
    assert (tmp_path / "outside" / "folder").exists()


def test_a_folder_that_was_removed_is_made_again(attic: Attic, home: Path):
    attic.drop(attic.write(b"x", None))
    folder_of(home).rmdir()
    slot = attic.write(b"y", None)
    assert (folder_of(home) / slot).read_bytes() == b"y"


@pytest.mark.parametrize("record", [b"", b"[", b'["66"]', b'["00", 1, 2]', b'["zz", 1]'])
def test_a_record_that_is_not_whole_restores_nothing(
    attic: Attic, home: Path, home_fd: int, root: ConfinedRoot, files: Path, record: bytes
):
    (files / "f").write_text("as it is")
    left(home, "old", 1)
    (home / "attic" / "old" / "restore-0").write_bytes(record)
    finish_restores(root, home_fd)
    assert (files / "f").read_text() == "as it is"
    assert sorted(path.name for path in (home / "attic" / "old").iterdir()) == ["deep", "index"]


@pytest.mark.parametrize("stands", ["another file", "nothing", "a folder is gone"])
def test_a_restore_whose_file_is_gone_leaves_the_original_for_an_operator(
    home: Path, home_fd: int, root: ConfinedRoot, files: Path, stands: str
):
    key = "d/f" if stands == "a folder is gone" else "f"
    left(home, "old", 1)
    (home / "attic" / "old" / "0").write_text("original")
    (home / "attic" / "old" / "restore-0").write_text(f'["{key.encode().hex()}", 1]')
    if stands == "another file":
        (files / "f").write_text("another")
    before = tree(files)
    finish_restores(root, home_fd)
    assert tree(files) == before
    assert (home / "attic" / "old" / "0").read_text() == "original"
    assert not (home / "attic" / "old" / "restore-0").exists()


def test_a_restore_that_was_begun_is_not_tidied_away(home: Path, attic: Attic):
    for number in range(KEPT_ASIDE + 2):
        left(home, f"old{number}", number)
    (home / "attic" / "old0" / "restore-0").write_text("[]")
    os.utime(home / "attic" / "old0", (0, 0))
    _ = attic.fd
    assert (home / "attic" / "old0").exists()
    assert not (home / "attic" / "old1").exists()
