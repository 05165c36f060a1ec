"""Where secrets are kept."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.vault import Vault


class Shelf:
    """Keeps secrets in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.kept.get(name)

    def write(self, name: str, data: bytes) -> None:
        self.kept[name] = data

    def delete(self, name: str) -> None:
        self.kept.pop(name, None)


async def test_without_a_keyring_secrets_are_files_in_the_state_folder(tmp_path: Path):
    vault = Vault(tmp_path)
    await vault.write("a", b"one")

    assert await vault.read("a") == b"one"
    assert (tmp_path / "keys" / "a").read_bytes() == b"one"
    await vault.delete("a")
    assert await vault.read("a") is None


async def test_whatever_keeps_them_is_asked_for_them(tmp_path: Path):
    shelf = Shelf()
    vault = Vault(tmp_path, shelf)
    await vault.write("a", b"one")

    assert shelf.kept == {"a": b"one"}
    assert not (tmp_path / "keys").exists()


async def test_a_lock_is_a_file_beside_them(tmp_path: Path):
    async with Vault(tmp_path, Shelf()).lock("a"):
        assert (tmp_path / "keys" / "a.lock").is_file()

    assert (tmp_path / "keys").stat().st_mode & 0o077 == 0


async def test_no_lock_is_taken_in_a_folder_that_others_may_enter(tmp_path: Path):
    (tmp_path / "keys").mkdir(mode=0o755)
    (tmp_path / "keys").chmod(0o755)

    with pytest.raises(StoreError):
        Vault(tmp_path, Shelf()).lock("a")
