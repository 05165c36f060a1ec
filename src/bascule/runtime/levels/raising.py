"""Raising of sensitivity levels: each raise is held in memory at once, stored, fenced, and only then reported."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from bascule.core.errors import (
    BasculeError,
    ConnectionLost,
    NotWrittenDown,
    OutcomeWithheld,
    SandboxError,
    StoreError,
    UsageError,
)
from bascule.core.events import LevelChanged, LevelFollowed
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.sandbox.raise_socket import RaiseRequest
from bascule.sensitivity.fence import Fence
from bascule.sensitivity.ratchet import Ratchet, Ratchets
from bascule.store.deadline import StoreWait
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.workspace.level_marks import MARKED, LevelMarks

_log = logging.getLogger("bascule.runtime")


class Gates(Protocol):
    """What is closed behind a raise."""

    def close_wider(self, principal: Principal) -> tuple[str, ...]:
        """End, in this step, every link of a principal that is wider than its level allows. Which they were."""
        ...

    def taken_over(self, level: DataSensitivity) -> Mapping[str, str]:
        """By what each server's tools are served at a level."""
        ...

    async def cut(self) -> None:
        """Wait until nothing runs any more in what was closed. Raises `SandboxError` if something may."""
        ...

    async def tighten(self, principal: Principal) -> None:
        """Have in its place what serves the principal now. Never raises: what is missing is told who needs it."""
        ...


class LevelAudit(Protocol):
    """Where every change of a level is written down."""

    async def level_changed(self, receipt: Receipt | None) -> None:
        """On disk when this returns, with every change before it. Raises `NotWrittenDown`."""
        ...


class Raising:
    """The levels of all agent sessions of one runtime."""

    def __init__(
        self,
        store: LevelStore,
        ratchets: Ratchets,
        tell: Callable[[LevelChanged | LevelFollowed], None],
        clock: Callable[[], float],
        audit: LevelAudit,
    ) -> None:
        self._store = store
        self._ratchets = ratchets
        self._tell = tell
        self._audit = audit
        self._clock = clock
        self.gates: Gates | None = None
        """Set before the first agent session begins."""
        self.marks: LevelMarks | None = None
        """Level marks of the workspaces on this machine. Set before the first agent session begins."""
        self.fence = Fence(store, self._follow, unsettle=ratchets.unsettle)
        self._closed = False
        self._beginning: dict[Principal, asyncio.Task[None]] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._receipts: dict[Principal, tuple[Receipt, ...]] = {}
        self._datasets: dict[Principal, Mapping[str, DataSensitivity]] = {}

    async def begin(self, principal: Principal) -> None:
        """Find out how private an agent session is. From its first moment on there is a record of it."""
        if self._ratchets.of(principal).known:
            return
        if self._closed:
            raise ConnectionLost("the runtime is closed", sent=False)
        task = self._beginning.get(principal)
        if task is None:
            task = self._beginning[principal] = asyncio.create_task(self._begin(principal))
            task.add_done_callback(lambda _: self._beginning.pop(principal, None))
        await asyncio.shield(task)

    def receipts(self, principal: Principal) -> tuple[Receipt, ...]:
        """What has changed the level of an agent session, as far as this runtime has heard."""
        return self._receipts.get(principal, ())

    async def kept(self, principal: Principal) -> tuple[SessionRecord, tuple[Receipt, ...]]:
        """Record and receipts of an agent session that was here, and need not be in memory."""
        record = await self._store.begin(principal, self._clock())
        if self.marks is not None:
            (record,) = await self.marks.judge((record,))
        return record, await self._store.receipts(principal)

    def datasets(self, principal: Principal) -> Mapping[str, DataSensitivity]:
        return self._datasets.get(principal, {})

    async def raise_to(self, principal: Principal, level: DataSensitivity, cause: Cause) -> None:
        """Raise an agent session to at least this level. Nothing is written to a wider lane, by anyone, from the moment
        this returns. Raises `OutcomeWithheld` where that cannot be promised; the agent session is SECRET then."""
        if level <= self._ratchets.of(principal).settled and not cause.dataset:
            return
        await asyncio.shield(self.start(principal, level, cause))

    def start(self, principal: Principal, level: DataSensitivity, cause: Cause) -> "asyncio.Task[None]":
        """Begin to raise, in this step: here and now the agent session is at that level. The rest is seen to even if
        nobody waits for it."""
        ratchet = self._ratchets.of(principal)
        ratchet.hold(level, in_words(cause))
        self._note_level(principal, ratchet)
        closed = self._close(principal)
        task = asyncio.create_task(self._raise(principal, level, cause, closed))
        self._under_way.add(task)
        task.add_done_callback(self._done)
        return task

    async def serve(self, requests: asyncio.Queue[RaiseRequest]) -> None:
        """Carries out what servers in sandboxes request, until it is cancelled. A raise may wait for other runtimes, so
        each request has a task of its own."""
        while True:
            request = await requests.get()
            task = asyncio.create_task(self.raise_to(request.principal, request.level, request.cause))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            task.add_done_callback(request.settle)

    def forget(self, principal: Principal) -> bool:
        """Keep nothing in memory of an agent session: what is in the store is read when it begins again. False where
        something of any of them is on its way there."""
        if self._under_way or self._beginning or not self._ratchets.forget(principal):
            return False
        self._receipts.pop(principal, None)
        self._datasets.pop(principal, None)
        if self.marks is not None:
            self.marks.forget(principal)
        return True

    async def close(self) -> None:
        """See to the end of what was begun. What begins later is nobody's any more, and stays SECRET."""
        self._closed = True
        tasks = [*self._under_way, *self._beginning.values()]
        if tasks:
            await asyncio.wait(tasks)
        await self.fence.close()

    async def _begin(self, principal: Principal) -> None:
        # It is there before anything is read: what others raise meanwhile finds it.
        ratchet = self._ratchets.of(principal)
        with StoreWait().shared():
            record = await self._store.begin(principal, self._clock())
            receipts = await self._store.receipts(principal) if record.epoch else ()
        (counted,) = await self._marked((record,))
        self._receipts[principal] = receipts
        self._datasets[principal] = record.datasets
        if counted.level > record.level and not counted.doubt:
            # The store gets the level, with a receipt. Until then it is not known here, and so SECRET.
            await self.start(principal, counted.level, MARKED)
            return
        ratchet.follow(counted, in_words(receipts[-1].cause) if receipts else "")
        self._note_level(principal, ratchet)

    def _note_level(self, principal: Principal, ratchet: Ratchet) -> None:
        """Has the level at hand for the level mark of a workspace that is made from now on."""
        if self.marks is not None and ratchet.known:
            self.marks.note(principal, ratchet.level, ratchet.record_epoch)

    async def _marked(self, records: tuple[SessionRecord, ...]) -> tuple[SessionRecord, ...]:
        """The records at the levels that count on this machine, with their level marks written."""
        return records if self.marks is None else await self.marks.follow(records)

    async def _raise(self, principal: Principal, level: DataSensitivity, cause: Cause, closed: tuple[str, ...]) -> None:
        ratchet, wait = self._ratchets.of(principal), StoreWait()
        try:
            with wait.shared():
                record, receipt = await self._store.raise_level(principal, level, cause, self._clock())
        except StoreError as error:
            raise self._not_kept(principal, error) from error
        # Beside the other waits for disks.
        marking = asyncio.create_task(self._mark(record))
        if record.level < ratchet.level:
            # The level mark may be higher, or in doubt: a raise in the store does not end that.
            (counted,) = await self._marked((record,))
            ratchet.follow(counted, in_words(cause))
        else:
            ratchet.follow(record, in_words(cause))
        self._note_level(principal, ratchet)
        self._datasets[principal] = record.datasets
        unwritten = await self._write_down(receipt)
        # Whatever became of the record: the level holds, and nobody may write past it.
        try:
            with wait.shared():
                fenced = await self.fence.settle(receipt)
        except StoreError as error:
            await marking
            raise self._not_kept(principal, error) from error
        uncut = await self._cut()
        unmarked = await marking
        ratchet.let_go(level)
        if unwritten is None and uncut is None and unmarked is None:
            ratchet.settled = max(ratchet.settled, min(level, ratchet.level))
        if receipt is not None:
            await self._complete(receipt, closed, fenced, wait)
        if self.gates is not None:
            await self.gates.tighten(principal)
        _raise_withheld(unwritten, uncut, unmarked)

    async def _mark(self, record: SessionRecord) -> StoreError | None:
        """Has the level mark of the workspace on disk. Returns why it is not, if so."""
        try:
            if self.marks is not None:
                await self.marks.keep(record)
        except StoreError as error:
            return error
        return None

    def _not_kept(self, principal: Principal, error: StoreError) -> OutcomeWithheld:
        """Makes an agent session SECRET whose level the store does not have, for as long as this process lives."""
        self._ratchets.of(principal).hold(DataSensitivity.SECRET, "a level could not be kept")
        self._close(principal)
        return _withheld(error)

    async def _write_down(self, receipt: Receipt | None) -> NotWrittenDown | None:
        """Have the change in the audit log, on disk. Why it is not, if so."""
        try:
            await self._audit.level_changed(receipt)
        except NotWrittenDown as error:
            return error
        return None

    async def _complete(self, receipt: Receipt, closed: tuple[str, ...], fenced: str, wait: StoreWait) -> None:
        """Say what was done. That is no part of the promise, so its failure is only logged."""
        principal = receipt.principal
        twins: Mapping[str, str] = self.gates.taken_over(receipt.after) if self.gates is not None else {}
        try:
            with wait.shared():
                await self._store.complete_receipt(receipt.number, closed, twins, fenced)
                self._receipts[principal] = await self._store.receipts(principal)
        except (StoreError, UsageError) as error:  # the latter where another database has no such receipt
            _log.warning("receipt %d could not be completed: %s", receipt.number, error.message)
        self._tell(
            LevelChanged(
                principal, receipt.change, receipt.before, receipt.after, receipt.cause, closed, twins, self._clock()
            )
        )

    async def _follow(self, records: Iterable[SessionRecord]) -> bool:
        """Take over what other runtimes, or an operator, have done, and close what is too wide for it, in one step.
        Returns once nothing runs in what was closed; False if something may."""
        changed = tuple(records)
        for record in changed:
            ratchet = self._ratchets.find(record.principal)
            # Where the level mark of the workspace may be higher than the record, that is found out first.
            if ratchet is not None and ratchet.known and record.level >= ratchet.level:
                self._take_over(record, ratchet)
        for record in await self._marked(changed):
            ratchet = self._ratchets.find(record.principal)
            if ratchet is not None:
                self._take_over(record, ratchet)
        return await self._cut() is None

    def _take_over(self, record: SessionRecord, ratchet: Ratchet) -> None:
        if ratchet.follow(record, "raised elsewhere"):
            self._note_level(record.principal, ratchet)
            self._datasets[record.principal] = record.datasets
            self._look_up(record.principal, ratchet, self._close(record.principal))

    def _look_up(self, principal: Principal, ratchet: Ratchet, closed: tuple[str, ...]) -> None:
        """Learn, in our own time, why somebody else has changed the level, and say what was closed here for it."""

        async def look_up() -> None:
            receipts = self._receipts[principal] = await self._store.receipts(principal)
            if receipts and receipts[-1].after == ratchet.level:
                ratchet.because = in_words(receipts[-1].cause)
            self._tell(LevelFollowed(principal, ratchet.level, self._clock()))
            if receipts and closed:
                # Whoever changed it may have no servers, as an operator has none: what took over is known here.
                twins: Mapping[str, str] = self.gates.taken_over(ratchet.level) if self.gates is not None else {}
                await self._store.complete_receipt(receipts[-1].number, closed, twins, "")
                self._receipts[principal] = await self._store.receipts(principal)
            if self.gates is not None:
                await self.gates.tighten(principal)

        task = asyncio.create_task(look_up())
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _close(self, principal: Principal) -> tuple[str, ...]:
        return self.gates.close_wider(principal) if self.gates is not None else ()

    async def _cut(self) -> SandboxError | None:
        """Wait until nothing runs in what was closed. Why something may, if so."""
        try:
            if self.gates is not None:
                await self.gates.cut()
        except SandboxError as error:
            _log.warning("%s", error.message)
            return error
        return None

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, BasculeError):
            _log.warning("%s", error.message)


def in_words(cause: Cause) -> str:
    """What raised a level, for whoever is refused because of it."""
    call = f" of {cause.server}/{cause.tool}" if cause.tool else ""
    dataset = f" {cause.dataset!r}" if cause.dataset else ""
    reason = f": {cause.reason}" if cause.reason else ""
    return f"{cause.by}{dataset}{call}{reason}"


def _raise_withheld(unwritten: NotWrittenDown | None, uncut: SandboxError | None, unmarked: StoreError | None) -> None:
    """Raises `OutcomeWithheld` where one part of a raise failed."""
    if unwritten is not None:
        raise _unseen(unwritten) from unwritten
    if uncut is not None:
        raise _uncut(uncut) from uncut
    if unmarked is not None:
        raise _withheld(unmarked) from unmarked


def _withheld(error: StoreError) -> OutcomeWithheld:
    return OutcomeWithheld(
        "the outcome is withheld: how private it is could not be kept, and without that it may not be seen",
        rule="nothing_before_it_is_learned",
        evidence=error.message,
        fix=error.fix or "make the store writable again; this agent session counts as SECRET until then",
    )


def _uncut(error: SandboxError) -> OutcomeWithheld:
    return OutcomeWithheld(
        "the outcome is withheld: a box with a wider lane could not be ended, and may still run",
        rule="nothing_before_it_is_learned",
        evidence=f"{error.message}\n{error.evidence}".strip(),
        fix=error.fix,
    )


def _unseen(error: NotWrittenDown) -> OutcomeWithheld:
    return OutcomeWithheld(
        "the outcome is withheld: that it raised a level could not be written down in the audit log",
        rule=error.rule,
        evidence=error.evidence,
        fix=error.fix,
    )
