"""Cache of package layers on disk, one folder per key. A layer is added and removed by one rename, so it is never seen
half written."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from bascule.core.errors import SandboxError
from bascule.files.regular_file import regular_descriptor
from bascule.sandbox.prepare.layer import RECORD, Kept, Record, looked_over, read_record, written
from bascule.sandbox.prepare.layer_files import remove
from bascule.store.secrets.process_lock import taken

PAUSE = 0.05
"""Seconds between two looks whether another process has made what we wait for."""

_PARTIAL = ".partial-"


class Shelf:
    """The layers of one state folder. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, key: str) -> Path:
        return self._folder / key

    def find(self, key: str) -> Record | None:
        """What is written of a layer that is there, and is as it was made. Raises `SandboxError` if it is not."""
        folder = self.path(key)
        record = read_record(folder)
        if record is None:
            return None
        look = looked_over(folder, record)
        if look != record.look:
            record = msgspec.structs.replace(record, look=look)
            _rewrite(folder / RECORD, written(record))
        return record

    def layers(self) -> tuple[Kept, ...]:
        """Those that are there, the newest first. One that cannot be read is told by its key alone."""
        found = [_described(path) for path in self._folder.glob("*") if _is_layer(path)]
        return tuple(sorted(found, key=lambda kept: (-kept.made, kept.key)))

    async def remove(self, key: str, longest: float) -> bool:
        """False if there is none."""
        if not key.isalnum() or not _is_layer(self.path(key)):
            return False
        async with self.held(key, longest):
            gone = self.partial(key)
            with suppress(FileNotFoundError):
                self.path(key).rename(gone)
            await asyncio.to_thread(remove, gone)
        return True

    def partial(self, key: str) -> Path:
        """A name for what is not whole yet, or no longer."""
        return self._folder / f"{key}{_PARTIAL}{secrets.token_hex(8)}"

    def sweep(self, held: str) -> None:
        """Remove what processes left that were killed. To be called by who holds this key: others that are held by
        nobody are looked after too, since the same package may never be asked for again."""
        for left in self._folder.glob(f"*{_PARTIAL}*"):
            key = left.name.partition(_PARTIAL)[0]
            if key == held:
                remove(left)
                continue
            descriptor = self._lock(key)
            try:
                if taken(descriptor):
                    remove(left)
            finally:
                os.close(descriptor)

    @asynccontextmanager
    async def held(self, key: str, longest: float) -> AsyncGenerator[None]:
        """One at a time makes, or removes, what has this key. The kernel frees the lock of a process that is killed."""
        descriptor = self._lock(key)
        try:
            await self._wait(descriptor, key, longest)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, key: str) -> int:
        try:
            # Nobody else gets at what lies in it: a layer in the making is open to whoever can reach it.
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._folder.chmod(0o700)
            return regular_descriptor(self._folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        except OSError as error:
            raise SandboxError(
                f"packages cannot be kept in {self._folder}",
                where="prepare",
                evidence=str(error),
                fix="make the folder yours, or set BASCULE_HOME to another one",
            ) from error

    async def _wait(self, descriptor: int, key: str, longest: float) -> None:
        try:
            async with asyncio.timeout(longest):
                while not taken(descriptor):  # noqa: ASYNC110 -- who holds it may be another process
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            raise SandboxError(
                f"another process has not come to an end of preparing the same package within {longest:g} s",
                where="prepare",
                evidence=str(self._folder / f"{key}.lock"),
                fix="end that process; `fuser` names it by this file",
            ) from None


def _is_layer(path: Path) -> bool:
    return path.name.isalnum() and path.is_dir() and not path.is_symlink()


def _described(path: Path) -> Kept:
    try:
        record = read_record(path)
    except SandboxError:
        record = None
    if record is None:
        return Kept(path.name, "not readable", pinned=False, size=0, made=0.0, digest="")
    return Kept(path.name, record.described, record.pinned, record.size, record.made, record.digest)


def _rewrite(path: Path, data: bytes) -> None:
    """It only saves time, so that a folder we may not write to is none that fails."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with suppress(OSError):
        fresh.write_bytes(data)
        fresh.replace(path)
