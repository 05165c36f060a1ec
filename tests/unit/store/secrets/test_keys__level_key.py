"""The key under which levels are stated."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import LENGTH, LEVEL_KEY, level_key


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
