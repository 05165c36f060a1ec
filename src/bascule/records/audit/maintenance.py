"""Background maintenance of the audit log: syncs to disk in groups, and anchors at intervals."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bascule.core.errors import StoreError
from bascule.store.audit.file import Unwritten

GATHER = 0.2
"""Seconds for which records gather before they are brought to disk together: what a power cut may cost at most."""

_log = logging.getLogger("bascule.records")

Work = Callable[[], Awaitable[None]]


class Tending:
    """Runs `settle` soon after every write, and `anchor` at most every so many seconds, if anything was written."""

    def __init__(self, settle: Work, anchor: Work, every: float) -> None:
        self._settle = settle
        self._anchor = anchor
        self._every = every
        self._wake = asyncio.Event()
        self._awake = False
        self._due: float | None = None
        self._complained = False
        self._task = asyncio.create_task(self._run(), name="audit")

    def wake(self) -> None:
        """Something was added."""
        if not self._awake:
            self._awake = True
            self._wake.set()

    async def end(self) -> None:
        """Do no more. What is to be done at the end is the caller's."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        now = asyncio.get_running_loop().time
        anchored = now()
        while True:
            await self._wait(self._due)
            if self._awake:
                await asyncio.sleep(GATHER)
                self._awake = False
                self._wake.clear()
                await self._try(self._settle, again=True)
                if self._due is None:
                    self._due = max(now(), anchored + self._every)
            if self._due is not None and now() >= self._due:
                self._due, anchored = None, now()
                await self._try(self._anchor, again=False)

    async def _wait(self, due: float | None) -> None:
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _try(self, work: Work, *, again: bool) -> None:
        """A disk that is full, or a store that is away, may come back. Who must not go on until then is told so where
        it wants to."""
        try:
            await work()
        except (Unwritten, OSError, StoreError) as error:
            if not self._complained:
                self._complained = True
                _log.warning("the audit log cannot be kept for now: %s", error)
            if again:
                self.wake()
            elif self._due is None:
                self._due = asyncio.get_running_loop().time() + self._every
        else:
            self._complained = False
