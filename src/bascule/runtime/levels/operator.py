"""Changes of sensitivity levels by an operator: raise, declassify, or end an agent session."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from bascule.core.errors import NotWrittenDown, StoreError, UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import LONGEST_REASON, Cause, Change, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.levels.raising import LevelAudit
from bascule.sensitivity.fence import Fence
from bascule.sensitivity.private_data import check_dataset
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.workspace.level_marks import MARKED, LevelMarks

_log = logging.getLogger("bascule.runtime")


class Deed(msgspec.Struct, frozen=True):
    """What an operator has done to one agent session. Every runtime knows of it by now, or can no longer write."""

    record: SessionRecord
    """The agent session as it is now."""
    receipt: Receipt | None
    """None if it was as private as that already."""
    fence: str
    """Who has answered, and who was waited for in vain."""
    began: bool = False
    """Whether there was no such agent session before."""


class DeedAudit(LevelAudit, Protocol):
    """Where what an operator does is written down."""

    async def deed(self, principal: Principal, change: Change, to: DataSensitivity | None, by: str) -> None:
        """What is about to be done. On disk when this returns. Raises `NotWrittenDown`."""
        ...


class Operator:
    """One person who answers for levels, by name. Needs no servers and no runtime: those that run hear of it."""

    def __init__(
        self,
        store: LevelStore,
        name: str,
        clock: Callable[[], float],
        audit: DeedAudit,
        marks: LevelMarks | None = None,
    ) -> None:
        """`marks` are the level marks of the workspaces on this machine."""
        self._store = store
        self._by = f"operator {name}"
        self._clock = clock
        self._audit = audit
        self._marks = marks
        # Not opened: nobody has to wait for one who writes to no lane.
        self._fence = Fence(store, _follow_nothing)

    async def find(self, principal: Principal) -> SessionRecord | None:
        """Record of an agent session at the level that counts on this machine. None if it has not begun."""
        return (await self._find(principal))[1]

    async def _find(self, principal: Principal) -> tuple[SessionRecord | None, SessionRecord | None]:
        """Record of the store, and the same at the level that counts."""
        records = await self._store.sessions()
        found = next((record for record in records if record.principal == principal), None)
        if found is None or self._marks is None:
            return found, found
        return found, (await self._marks.judge((found,)))[0]

    async def raise_to(
        self, principal: Principal, level: DataSensitivity, *, dataset: str = "", reason: str = ""
    ) -> Deed:
        """Raise an agent session to at least this level; one that has not begun, begins there."""
        if dataset:
            check_dataset(dataset)
        at = self._clock()
        cause = self._cause(reason, dataset)
        record, receipt = await self._store.raise_level(principal, level, cause, at)
        marking = asyncio.create_task(self._mark(record))
        try:
            return await self._done(record, receipt, began=record.since == at)
        finally:
            await marking

    async def _mark(self, record: SessionRecord) -> None:
        if self._marks is not None:
            await self._marks.keep(record)

    async def declassify(self, principal: Principal, level: DataSensitivity, reason: str) -> Deed:
        """Lowers a level, in the store and in the level mark of the workspace on this machine. Raises `UsageError`
        without a reason, and where there is nothing to lower."""
        if not reason.strip():
            raise UsageError(
                "a level is lowered only for a reason, which its receipt keeps",
                fix="say why the data that was seen may leave from now on",
            )
        cause = self._cause(reason)
        await self._audit.deed(principal, "declassify", level, self._by)
        if self._marks is None:
            return await self._done(*await self._store.lower_level(principal, level, cause, self._clock()))
        unlowered: StoreError | None = None
        async with self._marks.lowering(principal):
            await self._raise_to_mark(principal, level)
            record, receipt = await self._store.lower_level(principal, level, cause, self._clock())
            try:
                await self._marks.lower(record)
            except StoreError as error:
                unlowered = error
        deed = await self._done(record, receipt)
        if unlowered is not None:
            raise unlowered
        return deed

    async def _raise_to_mark(self, principal: Principal, target: DataSensitivity) -> None:
        """Raises the store to the level of the level mark, so that its receipts show what is lowered."""
        stored, counted = await self._find(principal)
        if stored is None or counted is None or not stored.level < counted.level > target:
            return
        cause = msgspec.structs.replace(MARKED, reason=counted.doubt or MARKED.reason)
        _, receipt = await self._store.raise_level(principal, counted.level, cause, self._clock())
        await self._audit.level_changed(receipt)

    async def end(self, principal: Principal, reason: str = "") -> Deed:
        """Let nothing be done any more on behalf of an agent session. There is no way back."""
        cause = self._cause(reason)
        await self._audit.deed(principal, "end", None, self._by)
        return await self._done(*await self._store.end_session(principal, cause, self._clock()))

    def _cause(self, reason: str, dataset: str = "") -> Cause:
        if len(reason) > LONGEST_REASON:
            raise UsageError(f"a reason has at most {LONGEST_REASON} characters, not {len(reason)}", fix="shorten it")
        return Cause(self._by, dataset=dataset, reason=reason.strip())

    async def _done(self, record: SessionRecord, receipt: Receipt | None, *, began: bool = False) -> Deed:
        """Write it down, wait for the fence, and say so in the receipt. The last is no part of the promise: its failure
        is only logged."""
        unwritten = None
        try:
            await self._audit.level_changed(receipt)
        except NotWrittenDown as error:
            # It is done nevertheless, and nobody may write past it.
            unwritten = error
        fenced = await self._fence.settle(receipt)
        if receipt is not None:
            receipt = msgspec.structs.replace(receipt, fence=fenced)
            try:
                await self._store.complete_receipt(receipt.number, (), {}, fenced)
            except StoreError as error:
                _log.warning("receipt %d could not be completed: %s", receipt.number, error.message)
        if unwritten is not None:
            raise unwritten
        if self._marks is not None:
            (record,) = await self._marks.judge((record,))
        return Deed(record, receipt, fenced, began)


async def _follow_nothing(_records: Iterable[SessionRecord]) -> bool:
    """Closes nothing: an operator's process holds no links."""
    return True
