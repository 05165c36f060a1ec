"""Sensitivity levels of agent sessions on disk, outside of every workspace, for a kit server without a sandbox."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol, TypeVar

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.interface import Store
from bascule.store.levels.interface import SessionRecord
from bascule.store.open import store_at
from bascule.workspace.level_marks import LevelMarks
from bascule.workspace.mark_files import MarkFiles

T = TypeVar("T")


class Levels(Protocol):
    """Where a server of ours finds out how private its agent sessions are, and has it kept that they became so."""

    def seen(self, principal: Principal) -> DataSensitivity | None:
        """The level as it was when it was last looked at. None, if that was never."""
        ...

    async def look(self, principal: Principal) -> DataSensitivity:
        """The level as it is kept now. Others may have raised it: another process of this server, or its twin. Raises
        `StoreError`."""
        ...

    def look_now(self, principal: Principal) -> DataSensitivity:
        """The same, from a thread or in the midst of a step."""
        ...

    def add(self, principal: Principal, dataset: str, sensitivity: DataSensitivity) -> None:
        """Keep that a private dataset was seen. Durable when this returns. Raises `StoreError`."""
        ...

    def close(self) -> None: ...

    def move(self, folder: Path) -> None:
        """Keep them in another folder from now on, and forget those that are kept in this one."""
        ...


class KeptLevels:
    """The levels in one state folder. Tools run in threads and in the loop alike, so it has a thread and a loop of its
    own, and may be asked from anywhere."""

    def __init__(self, folder: Path, workspaces: Callable[[], MarkFiles] | None = None) -> None:
        """`workspaces` gives the level marks beside the files of agent sessions, as the config names their folder."""
        self._folder = folder
        self._workspaces = workspaces
        self._marks: LevelMarks | None = None
        self._lock = Lock()
        self._store: Store | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._seen: dict[Principal, SessionRecord] = {}
        """The latest record that was seen here of each."""

    def seen(self, principal: Principal) -> DataSensitivity | None:
        record = self._seen.get(principal)
        return record.level if record is not None else None

    async def look(self, principal: Principal) -> DataSensitivity:
        return await asyncio.wrap_future(self._ask(self._look(principal)))

    def look_now(self, principal: Principal) -> DataSensitivity:
        return self._ask(self._look(principal)).result()

    def add(self, principal: Principal, dataset: str, sensitivity: DataSensitivity) -> None:
        self._ask(self._add(principal, dataset, sensitivity)).result()

    def make_mark(self, principal: Principal) -> None:
        """Makes the level mark of a new workspace, at the level of this moment. Raises `OSError` or `StoreError`."""
        self._ask(self._make_mark(principal)).result()

    def close(self) -> None:
        """Let go of it, once whoever has asked has got an answer. Asking again opens it anew."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            if loop is None or thread is None:
                return
            # In the lock: whoever asks after this finds a new loop, and no store that is being closed.
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        store, self._store, self._marks = self._store, None, None
        if store is not None:
            await store.close()

    def move(self, folder: Path) -> None:
        self.close()
        self._folder = folder
        self._seen.clear()

    async def _look(self, principal: Principal) -> DataSensitivity:
        return self._note(principal, await self._counted(principal))

    async def _counted(self, principal: Principal) -> SessionRecord:
        """Record of an agent session, at the level of the mark beside its files where that is higher."""
        record = await (await self._opened()).levels.begin(principal, time.time())
        return record if self._marks is None else await self._marks.judge_here(record)

    async def _make_mark(self, principal: Principal) -> None:
        record = await self._counted(principal)
        if self._marks is not None:
            self._marks.note(principal, record.level, record.epoch)
            self._marks.make(principal)
            self._marks.forget(principal)

    async def _add(self, principal: Principal, dataset: str, sensitivity: DataSensitivity) -> None:
        store, marks = await self._opened(), self._marks
        raising = store.levels.raise_level(principal, sensitivity, Cause("dataset", dataset=dataset), time.time())
        if marks is None:
            record, _ = await raising
        else:
            # Both wait for the disk. If one of them fails, the other makes the agent session too private at most.
            (record, _), _ = await asyncio.gather(raising, marks.rise(principal, sensitivity))
            await marks.rise(principal, sensitivity)
            record = await marks.judge_here(record)
        self._note(principal, record)

    def _note(self, principal: Principal, record: SessionRecord) -> DataSensitivity:
        # Answers may overtake each other: an older one must not hide a raise.
        known = self._seen.get(principal)
        if known is None or record.epoch >= known.epoch or record.level > known.level:
            self._seen[principal] = record
        return record.level

    async def _opened(self) -> Store:
        if self._store is None:
            store = store_at(None, self._folder)
            try:
                await store.open()
                marks = await self._opened_marks(store)
            except StoreError:
                await store.close()
                raise
            if self._store is None:
                self._store, self._marks = store, marks
            else:
                # Another one has opened it meanwhile.
                await store.close()
        return self._store

    async def _opened_marks(self, store: Store) -> LevelMarks | None:
        if self._workspaces is None:
            return None
        marks = LevelMarks(self._workspaces(), store.levels, claim=False)
        await marks.open()
        return marks

    def _ask(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="bascule levels", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)
