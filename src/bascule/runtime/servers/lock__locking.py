"""The lock that holds now. It follows its file while the runtime runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bascule.catalog.pinning.lock import Lock
from bascule.config.model.runtime_config import Locking as Mode
from bascule.core.errors import ConfigError
from bascule.runtime.servers.lock import LockFile, look_at_lock

EVERY = 1.0
"""Seconds between looks on nobody's behalf: who only calls tools it knows is never the reason for one, and what is no
longer approved must stop for it too."""


class Locking:
    """Which lock holds, by the mode of the config and the file beside it."""

    def __init__(self, mode: Mode, path: Path | None) -> None:
        self._every = mode == "required"
        self.path = None if mode == "off" else path
        """The file. None where nothing is held against one."""
        self._seen: LockFile | None = None
        self._turn = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self.lock = Lock(every=self._every)
        """The same object for as long as it says the same."""

    async def look(self) -> bool:
        """Look at the file. Whether another lock holds from now on: then the caller has to act on it before it waits
        for anything."""
        if self.path is None:
            return False
        async with self._turn:
            # In a thread: a file may lie on a disk that hangs.
            found = await asyncio.to_thread(look_at_lock, self.path, self._seen, time.time())
            before, self._seen = self._seen, found
            if before is not None and before.content is found.content:
                return False
            return self._adopt(found)

    def watch(self, follow: Callable[[], Awaitable[object]]) -> None:
        """Have `follow` called every now and then, until closed."""
        if self.path is not None:
            self._watching = asyncio.create_task(self._watch(follow), name="watching the lock")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))
            self._watching = None

    async def _watch(self, follow: Callable[[], Awaitable[object]]) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await follow()

    def _adopt(self, found: LockFile) -> bool:
        content = found.content
        if isinstance(content, ConfigError):
            lock = Lock(every=self._every, trouble=content)
        elif content is not None:
            lock = Lock(content, every=self._every)
        elif self._every:
            lock = Lock(every=True)
        else:
            # A lock that goes away while it is in use opens nothing: a file that is being replaced may be gone for a
            # moment, and the tools it kept back would be free for as long.
            return False
        changed = lock != self.lock
        if changed:
            self.lock = lock
        return changed
