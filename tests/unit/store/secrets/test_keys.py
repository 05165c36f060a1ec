"""Signing keys: audit log, sensitivity levels, minted tokens."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import AUDIT_KEY, LENGTH, LEVEL_KEY, MINTING_KEY, audit_key, level_key, minting_key


def test_it_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path):
    files = KeyFiles(tmp_path / "keys")
    key = audit_key(files, make=True)

    assert len(key) == 32
    assert audit_key(files, make=False) == audit_key(files, make=True) == key
    assert (tmp_path / "keys" / AUDIT_KEY).stat().st_mode & 0o777 == 0o600


def test_none_is_made_beside_a_log(tmp_path: Path):
    with pytest.raises(StoreError, match=r"its key, audit\.key, is gone") as caught:
        audit_key(KeyFiles(tmp_path / "keys"), make=False)

    assert "from a copy" in caught.value.fix


def test_one_that_lost_a_part_is_not_used(tmp_path: Path):
    KeyFiles(tmp_path / "keys").write(AUDIT_KEY, b"short")
    with pytest.raises(StoreError, match="5 bytes instead of 32"):
        audit_key(KeyFiles(tmp_path / "keys"), make=True)


def test_the_key_is_made_once_and_stays(tmp_path: Path):
    made = level_key(KeyFiles(tmp_path / "keys"))

    assert len(made) == LENGTH
    assert level_key(KeyFiles(tmp_path / "keys")) == made
    assert level_key(KeyFiles(tmp_path / "others")) != made


@pytest.mark.parametrize("found", [b"", b"short", b"x" * (LENGTH + 1)])
def test_what_is_no_key_is_neither_used_nor_replaced(tmp_path: Path, found: bytes):
    files = KeyFiles(tmp_path / "keys")
    files.write(LEVEL_KEY, found)

    with pytest.raises(StoreError, match=f"{len(found)} bytes instead of 32") as caught:
        level_key(files)
    assert "from a copy" in caught.value.fix
    assert files.read(LEVEL_KEY) == found


def test_it_is_made_once_and_for_its_owner_alone(tmp_path: Path):
    files = KeyFiles(tmp_path / "keys")
    key = minting_key(files)

    assert len(key) == LENGTH
    assert minting_key(files) == key
    assert (tmp_path / "keys" / MINTING_KEY).stat().st_mode & 0o777 == 0o600


def test_every_state_folder_has_its_own(tmp_path: Path):
    assert minting_key(KeyFiles(tmp_path / "a")) != minting_key(KeyFiles(tmp_path / "b"))


@pytest.mark.parametrize("data", [b"", b"short", bytes(LENGTH + 1)])
def test_a_damaged_one_is_not_used(tmp_path: Path, data: bytes):
    files = KeyFiles(tmp_path / "keys")
    files.write(MINTING_KEY, data)

    with pytest.raises(StoreError, match="bytes instead of 32"):
        minting_key(files)


def test_one_that_others_can_read_is_not_used(tmp_path: Path):
    files = KeyFiles(tmp_path / "keys")
    minting_key(files)
    (tmp_path / "keys" / MINTING_KEY).chmod(0o644)

    with pytest.raises(StoreError, match="others than you"):
        minting_key(files)
