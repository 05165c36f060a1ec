"""File lock between processes, held for instance while a refresh token is spent that is valid only once."""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bascule.core.errors import StoreError
from bascule.files.regular_file import fix_of, regular_descriptor

LONGEST_WAIT = 60.0
"""Seconds. Longer than a holder may take to get an answer; after that it hangs, and we say so."""

PAUSE = 0.02
"""Seconds between two tries. The kernel would wake us up, but only in a thread that cannot be cancelled."""


@asynccontextmanager
async def key_lock(path: Path, longest: float = LONGEST_WAIT) -> AsyncGenerator[None]:
    """Hold the lock of this file. The kernel frees it when a process ends, however it ends."""
    try:
        descriptor = regular_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be locked: {error.strerror}", fix=fix_of(path, error, f"make {path.parent} yours, mode 700")
        ) from error
    try:
        await _acquire(descriptor, path, longest)
        yield
    finally:
        os.close(descriptor)


async def _acquire(descriptor: int, path: Path, longest: float) -> None:
    try:
        async with asyncio.timeout(longest):
            while not taken(descriptor):  # noqa: ASYNC110 -- who holds it is another process
                await asyncio.sleep(PAUSE)
    except TimeoutError:
        raise StoreError(
            f"{path} stayed locked for {longest:g} s",
            cause="another process of ours hangs while it renews a login",
            fix=f"end that process; `fuser {path}` names it",
        ) from None


def taken(descriptor: int) -> bool:
    """Whether the lock of an open file, or folder, is ours now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
