"""Vault for secrets that outlive a run: the system's keyring if there is one, else files that only their owner can
read."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keyring import Keychain, real_backend
from bascule.store.secrets.process_lock import key_lock


class Keeper(Protocol):
    """What holds secrets by name. Raises `StoreError` where one could not be read or written; never guesses."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, data: bytes) -> None: ...

    def delete(self, name: str) -> None: ...


class Vault:
    """The secrets of one state folder. Keyrings and disks are slow, so all is done in threads."""

    def __init__(self, state_folder: Path, keeper: Keeper | None = None) -> None:
        self._folder = state_folder / FOLDER
        self._files = KeyFiles(self._folder)
        self._keeper = keeper

    async def read(self, name: str) -> bytes | None:
        return await asyncio.to_thread(lambda: self._kept().read(name))

    async def write(self, name: str, data: bytes) -> None:
        # A caller who gives up must not leave it open whether the secret was kept.
        await asyncio.shield(asyncio.to_thread(lambda: self._kept().write(name, data)))

    async def delete(self, name: str) -> None:
        await asyncio.shield(asyncio.to_thread(lambda: self._kept().delete(name)))

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        """Held by one process at a time. It is a file also where the secrets are not."""
        self._files.make_folder()
        return key_lock(self._folder / f"{name}.lock")

    def _kept(self) -> Keeper:
        if self._keeper is None:
            backend = real_backend()
            self._keeper = self._files if backend is None else Keychain(backend, str(self._folder))
        return self._keeper
