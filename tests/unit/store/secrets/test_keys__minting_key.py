"""The key of our own tokens."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import LENGTH, MINTING_KEY, minting_key


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
