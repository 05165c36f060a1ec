"""Has what was written to the audit log on disk: in a thread, one at a time, many records together."""

import asyncio
import os

from bascule.store.audit.file import AuditFile, sync_data


class AuditSync:
    """One file's way to the disk."""

    def __init__(self, file: AuditFile) -> None:
        self._file = file
        self._durable = 0
        self.trouble: OSError | None = None
        """Why the last attempt failed; None if it did not."""
        self._running: asyncio.Task[None] | None = None

    async def all(self) -> None:
        """Everything that was written before this was called is on disk when it returns. Raises `OSError`."""
        wanted = self._file.appends
        while self._durable < wanted:
            if self._running is None:
                self._running = asyncio.create_task(self._sync(), name="audit sync")
                self._running.add_done_callback(_heard)
            # Who came while another one ran shares the next. One who gives up stops nobody.
            await asyncio.shield(self._running)

    async def _sync(self) -> None:
        try:
            appends, descriptor = self._file.appends, self._file.duplicate()
            if descriptor is not None:
                await asyncio.to_thread(_sync_and_close, descriptor)
            self._durable = appends
            self.trouble = None
        except OSError as error:
            self.trouble = error
            raise
        finally:
            # In this very step: who comes in the next would wait for what is over, again and again.
            self._running = None


def _heard(task: asyncio.Task[None]) -> None:
    """What went wrong is told to whoever waits. Nobody may."""
    if not task.cancelled():
        task.exception()


def _sync_and_close(descriptor: int) -> None:
    try:
        sync_data(descriptor)
    finally:
        os.close(descriptor)
