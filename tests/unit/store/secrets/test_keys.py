"""The key of the audit log."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import AUDIT_KEY, audit_key


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
