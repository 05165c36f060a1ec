"""Secrets in files: whole or not at all, and only where nobody else can read them."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles


@pytest.fixture
def files(tmp_path: Path) -> KeyFiles:
    return KeyFiles(tmp_path / "state" / "keys")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "keys"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_read_and_can_be_deleted(files: KeyFiles):
    assert files.read("a") is None
    files.write("a", b"one")
    files.write("a", b"two")
    assert files.read("a") == b"two"
    files.delete("a")
    files.delete("a")
    assert files.read("a") is None


def test_only_their_owner_can_read_them_whatever_the_umask(files: KeyFiles, folder: Path):
    before = os.umask(0)
    try:
        files.write("a", b"one")
    finally:
        os.umask(before)

    assert (mode_of(folder), mode_of(folder / "a")) == (0o700, 0o600)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_file_that_others_may_read_is_not_used(files: KeyFiles, folder: Path, mode: int):
    files.write("a", b"one")
    (folder / "a").chmod(mode)

    with pytest.raises(StoreError, match="others than you") as caught:
        files.read("a")

    assert f"chmod 600 {folder / 'a'}" in caught.value.fix
    assert caught.value.evidence == f"mode {mode:04o}"


def test_nor_is_one_in_a_folder_that_others_may_enter(files: KeyFiles, folder: Path):
    files.write("a", b"one")
    folder.chmod(0o755)

    for use in (lambda: files.read("a"), lambda: files.write("a", b"two")):
        with pytest.raises(StoreError, match="others than you") as caught:
            use()
        assert f"chmod 700 {folder}" in caught.value.fix


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_used(files: KeyFiles, folder: Path):
    files.write("a", b"one")
    os.chown(folder / "a", 12345, -1)

    with pytest.raises(StoreError, match="another user"):
        files.read("a")


def test_a_symlink_is_not_followed(files: KeyFiles, folder: Path, tmp_path: Path):
    files.write("a", b"one")
    (tmp_path / "elsewhere").write_bytes(b"planted")
    (tmp_path / "elsewhere").chmod(0o600)
    (folder / "a").unlink()
    (folder / "a").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError):
        files.read("a")


def test_writing_replaces_a_symlink_and_leaves_what_it_pointed_to(files: KeyFiles, folder: Path, tmp_path: Path):
    files.make_folder()
    (tmp_path / "elsewhere").write_bytes(b"theirs")
    (folder / "a").symlink_to(tmp_path / "elsewhere")
    files.write("a", b"ours")

    assert (tmp_path / "elsewhere").read_bytes() == b"theirs"
    assert files.read("a") == b"ours"


def test_nothing_but_the_secret_is_left_after_a_write(files: KeyFiles, folder: Path):
    files.write("a", b"one")

    assert [path.name for path in folder.iterdir()] == ["a"]


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(files: KeyFiles, folder: Path):
    files.write("a", b"one")
    (folder / "b").mkdir()

    with pytest.raises(StoreError, match="cannot be used"):
        files.write("b", b"two")

    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert files.read("a") == b"one"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="cannot be used"):
        KeyFiles(tmp_path / "file" / "keys").write("a", b"one")


def test_what_cannot_be_deleted_is_told(files: KeyFiles, folder: Path):
    files.make_folder()
    (folder / "a").mkdir()

    with pytest.raises(StoreError):
        files.delete("a")


def test_what_is_created_is_never_replaced(files: KeyFiles, folder: Path):
    assert files.create("a", b"one") == b"one"
    assert files.create("a", b"two") == b"one"
    assert files.read("a") == b"one"
    assert mode_of(folder / "a") == 0o600
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_of_many_who_create_at_once_all_get_what_the_first_one_made(files: KeyFiles):
    with ThreadPoolExecutor(16) as threads:
        got = set(threads.map(lambda number: files.create("a", b"%d" % number), range(64)))

    assert got == {files.read("a")}


def test_what_cannot_be_created_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="cannot be used"):
        KeyFiles(tmp_path / "file" / "keys").create("a", b"one")
