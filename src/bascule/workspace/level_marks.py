"""Level marks of all workspaces of one store: the sensitivity level of an agent session is at least that of the mark
beside its files, also in a store that has lost its record."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.files.regular_file import fix_of
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.levels.level_mark import (
    PROVISIONAL,
    STORE_BEHIND,
    Absent,
    Comparison,
    Found,
    LevelMark,
    compare,
    last_lowered,
    mark_of,
)
from bascule.workspace.directory import home_name
from bascule.workspace.mark_files import MarkFiles
from bascule.workspace.workspaces import workspaces_root

_log = logging.getLogger("bascule.workspace")

MARKED = Cause("level mark", reason="the workspace on this machine has files of this level")
"""Cause of a raise to the level of a mark, in a store that has less."""


class LevelMarks:
    """The marks of the workspaces on this machine, compared with the records of one store."""

    def __init__(self, files: MarkFiles, store: LevelStore, *, claim: bool = True) -> None:
        """`claim`: this store takes over marks of other stores whose level is no lower. A kit server does not: its
        store holds only what that server has seen."""
        self._files = files
        self._levels = store
        self._claim = claim
        self._store = ""
        self._levels_noted: dict[Principal, tuple[DataSensitivity, int]] = {}

    @classmethod
    def at(cls, root: str | None, state_folder: Path, store: LevelStore) -> "LevelMarks":
        """Of the workspaces in the folder that the config names, or in the state folder."""
        return cls(MarkFiles(workspaces_root(root, state_folder), state_folder), store)

    async def identify(self) -> None:
        """Learns the id of the store, and whether its workspaces have marks. Before any other method."""
        self._store = (await self._levels.position()).origin.partition("/")[0]
        await asyncio.to_thread(self._files.read_note, self._store)

    async def open(self) -> int:
        """The same; workspaces that are older than marks get theirs. Returns how many were written."""
        await self.identify()
        if self._files.complete:
            return 0
        try:
            homes = await asyncio.to_thread(self._files.homes)
        except OSError as error:
            # Without a note: they get theirs at a later start. Until then a session with a workspace is SECRET.
            _log.warning("the folder of workspaces cannot be read: %s", error)
            return 0
        records = await self._levels.sessions() if homes else ()
        here = [record for record in records if home_name(record.principal) in homes]
        written = await self._decide(here, self._adopted)
        try:
            await asyncio.to_thread(self._files.write_note, self._store)
        except OSError as error:
            raise _unwritten(error) from error
        return sum(each.mark is not None for each in written)

    async def judge(self, records: Iterable[SessionRecord]) -> tuple[SessionRecord, ...]:
        """The records at the levels that count. Changes nothing."""
        return tuple(each.record for each in await self._decide(records, self._compared))

    async def judge_here(self, record: SessionRecord) -> SessionRecord:
        """The same for one record, in this step where that is possible: a thread takes longer than the read of a mark.
        For event loops that serve nothing else."""
        comparison = self._compared(record, None)
        if comparison is None or comparison.record.doubt:
            (judged,) = await self.judge((record,))
            return judged
        return comparison.record

    async def follow(self, records: Iterable[SessionRecord]) -> tuple[SessionRecord, ...]:
        """The same, and marks that are behind their records are written. A failure is logged: the store has the
        level."""
        records = tuple(records)
        if len(records) == 1 and not self._files.has_workspace(records[0].principal):
            return records
        return tuple(each.record for each in await self._decide(records, self._followed))

    async def keep(self, record: SessionRecord) -> None:
        """Writes the mark of an agent session whose level has risen. On disk when this returns. Raises `StoreError`."""
        if not self._files.has_workspace(record.principal):
            return
        try:
            await self._decide((record,), self._kept)
        except OSError as error:
            raise _unwritten(error) from error

    async def rise(self, principal: Principal, level: DataSensitivity) -> None:
        """Raises the mark of an agent session to at least this level. On disk when this returns. It may run beside the
        raise in a store; after that raise it runs again, since a declassification may have come between. Reads the mark
        in this step: for event loops that serve nothing else. Raises `StoreError`."""
        if self._risen(self._files.find(principal), principal, level) is None:
            return
        try:
            await asyncio.to_thread(self._rise, principal, level)
        except OSError as error:
            raise _unwritten(error) from error

    def _rise(self, principal: Principal, level: DataSensitivity) -> None:
        with self._files.locked(principal):
            mark = self._risen(self._files.find(principal), principal, level)
            if mark is not None:
                self._files.write(mark)

    def _risen(self, found: Found, principal: Principal, level: DataSensitivity) -> LevelMark | None:
        """The mark to write. None if there is none to write."""
        match found:
            case LevelMark():
                # In place of a mark of another store also at the same level: a declassification there, which may be
                # older than this raise, must not lower it.
                if found.store == self._store and found.level >= level:
                    return None
                level = max(found.level, level)
            case Absent.UNMARKED:
                pass
            case _:
                return None
        return LevelMark(principal.user_id, principal.session_id, level, 0, self._store)

    def note(self, principal: Principal, level: DataSensitivity, epoch: int) -> None:
        """Notes the level of an agent session, for `make`."""
        self._levels_noted[principal] = (level, epoch)

    def forget(self, principal: Principal) -> None:
        self._levels_noted.pop(principal, None)

    def make(self, principal: Principal) -> None:
        """Makes the mark of a new workspace, in this step, at the level that was noted last. Without a note it is
        provisional: SECRET for other stores. May be called from any thread. Raises `OSError` or `StoreError`."""
        level, epoch = self._levels_noted.get(principal, (DataSensitivity.SECRET, PROVISIONAL))
        self._files.make(LevelMark(principal.user_id, principal.session_id, level, epoch, self._store))

    @asynccontextmanager
    async def lowering(self, principal: Principal) -> AsyncGenerator[None]:
        """Keeps all others from the mark of an agent session, from before a declassification until `lower`: a runtime
        that follows it must not find the old mark. Raises `StoreError`."""
        with ExitStack() as stack:
            try:
                if await asyncio.to_thread(self._files.find, principal) is not Absent.NO_WORKSPACE:
                    await asyncio.to_thread(stack.enter_context, self._files.locked(principal))
            except OSError as error:
                raise _unwritten(error) from error
            yield

    async def lower(self, record: SessionRecord) -> None:
        """Replaces the mark of an agent session that an operator has declassified. Raises `StoreError`."""

        def write() -> None:
            if self._files.find(record.principal) is not Absent.NO_WORKSPACE:
                self._files.write(mark_of(record, self._store))

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            raise _unwritten(error) from error

    async def _decide(
        self, records: Iterable[SessionRecord], decide: Callable[[SessionRecord, int | None], Comparison | None]
    ) -> list[Comparison]:
        """Decides on each record in a thread."""
        all_ = tuple(records)
        if not all_:
            return []
        found = await asyncio.to_thread(lambda: [decide(record, None) for record in all_])
        return [
            comparison
            if comparison is not None and (comparison.record.doubt != STORE_BEHIND or record.doubt)
            else await self._decide_again(record, decide)
            for record, comparison in zip(all_, found, strict=True)
        ]

    async def _decide_again(
        self, record: SessionRecord, decide: Callable[[SessionRecord, int | None], Comparison | None]
    ) -> Comparison:
        """Decides with a new record: another process may have changed both after the first was read, and the mark is
        ahead of that one only."""
        lowered = last_lowered(await self._levels.receipts(record.principal))
        fresh = await self._levels.begin(record.principal, time.time())
        comparison = await asyncio.to_thread(decide, fresh, lowered)
        assert comparison is not None  # the last declassification is known
        return comparison

    def _compared(self, record: SessionRecord, lowered: int | None) -> Comparison | None:
        return compare(record, self._files.find(record.principal), self._store, lowered, claim=self._claim)

    def _renewed(self, record: SessionRecord, lowered: int | None) -> Comparison | None:
        comparison = self._compared(record, lowered)
        if comparison is None or comparison == Comparison(record):
            return comparison
        # Compared again under the lock: another process may just have raised the mark, or lower it.
        return self._kept(record, lowered)

    def _kept(self, record: SessionRecord, lowered: int | None) -> Comparison | None:
        with self._files.locked(record.principal):
            comparison = self._compared(record, lowered)
            # A mark that is ahead may be that of a later declassification: `_decide_again` finds out.
            undecided = lowered is None and comparison is not None and comparison.record.doubt == STORE_BEHIND
            if comparison is not None and comparison.mark is not None and not undecided:
                self._files.write(comparison.mark)
        return comparison

    def _followed(self, record: SessionRecord, lowered: int | None) -> Comparison | None:
        if record.doubt:
            # The doubt of a store is not written down: it ends with the damage.
            return Comparison(record)
        try:
            return self._renewed(record, lowered)
        except OSError as error:
            _log.warning("the level mark of %s could not be written: %s", record.principal, error)
            return self._compared(record, lowered)

    def _adopted(self, record: SessionRecord, lowered: int | None) -> Comparison | None:
        if not record.doubt:
            return self._followed(record, lowered)
        try:
            self.make(record.principal)
        except OSError as error:
            _log.warning("the level mark of %s could not be made: %s", record.principal, error)
        return Comparison(record)


def _unwritten(error: OSError) -> StoreError:
    path = error.filename
    return StoreError(
        f"a level mark cannot be written: {error.strerror or error}",
        evidence=str(path or ""),
        cause="the folder of the workspace is not ours to write, or the disk is full",
        fix=fix_of(str(path), error, "make the folder of workspaces yours, and make room on its disk"),
    )
