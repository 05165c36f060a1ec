"""Watches a config's file, and the `.env` beside it, for edits that are complete."""

import asyncio
import hashlib
import stat
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from bascule.config.loading.document import MAX_FILE
from bascule.core.errors import BasculeError

EVERY = 0.5
"""Seconds between looks. Every file system can be looked at; not every one tells of changes."""

SETTLING = 0.1
"""Seconds between looks at a file that changes. Two that are alike end the wait."""

GONE_LOOKS = 10
"""Looks in a row at no file, or an empty one, before that counts. Many editors empty or move a file to write it."""

TICK = 2.0
"""Seconds after which two writes surely have two times. Some file systems keep no more of a time than that."""

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """How the files were found at one moment."""

    stamps: tuple[_Stamp | None, ...]
    """When each was last written, its size, and which file it is."""
    digest: bytes
    empty: bool
    """Whether the config itself is empty, or not there."""
    at: float = field(default=0.0, compare=False)
    """Seconds since the epoch."""


class Watching:
    """Calls `reload` once an edit is complete. What is wrong with an edit is `reload`'s to tell."""

    def __init__(self, path: Path, reload: Callable[[], Awaitable[object]]) -> None:
        self._files = (path, path.parent / ".env")
        self._reload = reload

    async def run(self) -> None:
        """Watch for ever. An edit that could not be applied is tried again when the file is written again."""
        seen: Look | None = None
        rejected = False
        while True:
            look = await self._settled(seen)
            if seen is None or look.digest != seen.digest or (rejected and look.stamps != seen.stamps):
                try:
                    await self._reload()
                except BasculeError:
                    rejected = True
                else:
                    rejected = False
            seen = look
            await asyncio.sleep(EVERY)

    async def _settled(self, seen: Look | None) -> Look:
        """How the files are once they have stopped changing."""
        look = await self._look(seen)
        if seen is not None and look == seen:
            return look
        alike = 1
        while alike < (GONE_LOOKS if look.empty else 2):
            await asyncio.sleep(SETTLING)
            before, look = look, await self._look(look)
            alike = alike + 1 if look == before else 1
        return look

    async def _look(self, last: Look | None) -> Look:
        # In a thread: a file may lie on a disk that hangs.
        return await asyncio.to_thread(look_at, self._files, last, time.time())


def look_at(files: tuple[Path, ...], last: Look | None, now: float) -> Look:
    """How the files are. They are read only if they can have changed since the last look."""
    stamps = tuple(map(_stamp, files))
    if last is not None and stamps == last.stamps and _is_past(stamps, last.at):
        return last
    contents = [_read(file) if stamp is not None else None for file, stamp in zip(files, stamps, strict=True)]
    digest = hashlib.sha256()
    for content in contents:
        digest.update(b"-" if content is None else hashlib.sha256(content).digest())
    return Look(stamps, digest.digest(), not (contents[0] or b"").strip(), now)


def _is_past(stamps: tuple[_Stamp | None, ...], looked: float) -> bool:
    """Whether any later write would have left another time. One within the same tick, of the same size, leaves none."""
    return all(stamp is None or looked - stamp[0] / 1e9 > TICK for stamp in stamps)


def _stamp(file: Path) -> _Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    # Reading anything else, a pipe say, could wait for ever.
    return (status.st_mtime_ns, status.st_size, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _read(file: Path) -> bytes | None:
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_FILE + 1)
    except OSError:
        return None
