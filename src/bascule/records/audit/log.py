"""Audit log of one runtime: records every request, and one that could do harm before it is sent. Its file is synced in
a thread, one sync at a time, for many records together."""

import asyncio
import errno
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bascule.core.errors import NotWrittenDown, StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Receipt
from bascule.core.request import Permit
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.records.audit.chain_slot import Slot, take_slot
from bascule.records.audit.from_events import RECORDS
from bascule.records.audit.maintenance import Tending
from bascule.records.audit.pseudonyms import Aliases
from bascule.records.audit.records import (
    Anchored,
    Asked,
    Began,
    DeedRecord,
    LeftOut,
    LevelRecord,
    Record,
    Resumed,
    Sending,
)
from bascule.sensitivity.audit_permit import WrittenFirst
from bascule.store.audit.anchors import Anchor, AnchorStore, read_anchor, seal_anchor
from bascule.store.audit.file import AuditFile, Unwritten, sync_data
from bascule.store.audit.folder import AuditFolder
from bascule.store.audit.writer import AuditWriter
from bascule.store.secrets.key_files import FOLDER as KEYS
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import audit_key


class AuditSync:
    """Syncs one audit file to disk, in a thread, one sync at a time."""

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


RULE = "written_down_first"

TOOL_CALL = "tools/call"

_log = logging.getLogger("bascule.records")


class Request(Protocol):
    """What is known of a request when it is about to be sent."""

    server: str
    tool: str
    lane: Lane
    shapes: dict[str, str]
    spec: object
    """What it is about: for a tool, the one that declares the names of its arguments."""


class _Open:
    """What there is while the log is open."""

    def __init__(self, slot: Slot, key: bytes, anchors: AnchorStore) -> None:
        self.slot = slot
        self.key = key
        self.anchors = anchors
        self.writer = AuditWriter(slot.chain, slot.file)
        self.sync = AuditSync(slot.file)
        self.aliases = Aliases(key)


class Audit:
    """One chain of the log, from `open` to `close`. What comes while it is closed is let go, or refused."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: _Open | None = None
        self._tending: Tending | None = None
        self._closing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writing_soon = False
        self._left_out = 0
        self.whole = False
        """Whether arguments are written whole."""

    # Its life

    async def open(self, state: Path, anchors: AnchorStore, *, every: float, whole: bool) -> None:
        """Take a slot in the state folder, continue its chain. Raises `StoreError`: without a log nothing begins."""
        folder = AuditFolder(state)
        id_, key = await asyncio.to_thread(_prepare, folder, state)
        sealed = await anchors.sealed()
        known = {writer: _own(writer, read_anchor(each, key)) for writer, each in sealed.items()}
        slot = await asyncio.to_thread(take_slot, folder, id_, key, known)
        opened = _Open(slot, key, anchors)
        try:
            if slot.writer not in known:
                # Before there is a file: a log without an anchor is always one whose anchor was removed.
                await self._keep_anchor(opened)
            await asyncio.to_thread(self._begin, opened)
        except BaseException:
            slot.free()
            raise
        self._open, self._loop, self.whole = opened, asyncio.get_running_loop(), whole
        # What was to be done soon in another loop is never done.
        self._writing_soon, self._left_out = False, 0
        self._tending = Tending(self._settle, self._anchor, every)
        self._tending.wake()

    async def close(self) -> None:
        """Write what is kept, anchor it, and let the next one have the slot. One ending, however many ask for it."""
        opened, tending = self._open, self._tending
        if opened is None or tending is None:
            return
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(opened, tending), name="audit end")
        await asyncio.shield(self._closing)

    async def _end(self, opened: _Open, tending: Tending) -> None:
        await tending.end()
        try:
            await self._anchor(closing=True)
        except (Unwritten, OSError, StoreError) as error:
            _log.error("the end of the audit log, %d records, could not be kept: %s", opened.writer.kept, error)
        finally:
            self._open = self._tending = self._loop = self._closing = None
            opened.slot.free()

    # What is written down first

    def sending(
        self, principal: Principal, request: Request, method: str, *, first: bool, values: Mapping[str, Any] | None
    ) -> int:
        """Write down that a request is about to be sent. `first` says that it may not be sent without that: its permit
        has to be one of `permit`. The record's number, 0 if there is none. Raises `NotWrittenDown`."""
        opened = self._open or self._usable()
        writer = opened.writer
        if not first and values is None:
            # The names of its arguments are told when it has ended, and by then nobody has the tool at hand.
            opened.aliases.shapes(request.shapes, request.spec)
            if writer.trouble is not None and writer.full:
                raise self._not_written(writer)
            return 0
        if first and opened.sync.trouble is not None:
            raise self._not_written(writer, opened.sync.trouble)
        record = self._asked(Sending, opened, principal, request, method, values)
        if writer.trouble is None:
            self._put(opened, record)
            return record.seq
        if not first and writer.full:
            raise self._not_written(writer)
        try:
            # Now or never: what is refused is not to fill the memory too.
            return writer.put_now(record)
        except Unwritten:
            if first:
                raise self._not_written(writer) from None
        self._put(opened, record)
        return record.seq

    def permit(self, permit: Permit, number: int) -> Permit:
        """The same permit, which holds only once the record of this number is in the file. Where bytes are handed over
        it is asked, and writes all records that wait: many requests that leave together share one write."""
        opened = self._open or self._usable()
        return WrittenFirst(permit, opened.writer, number)

    def ensure(self, number: int) -> None:
        """Raises `NotWrittenDown` where the record of this number is not in the file, and cannot be."""
        writer = self._usable().writer
        if number >= writer.first_kept:
            try:
                writer.write()
            except Unwritten:
                raise self._not_written(writer) from None

    def asked(self, principal: Principal, request: Request, method: str, values: Mapping[str, Any]) -> int:
        """Write down, whole, the arguments of a request that was not sent."""
        opened = self._open
        if opened is None or opened.writer.full:
            return 0
        record = self._asked(Asked, opened, principal, request, method, values)
        self._put(opened, record)
        return record.seq

    async def deed(self, principal: Principal, change: str, to: DataSensitivity | None, by: str) -> None:
        """Write down what an operator is about to do. On disk when this returns. Raises `NotWrittenDown`."""
        opened = self._usable()
        record = DeedRecord(
            opened.writer.next,
            self._clock(),
            principal.user_id,
            principal.session_id,
            change,
            to.name.lower() if to is not None else "",
            _said(by),
        )
        try:
            opened.writer.put_now(record)
            await opened.sync.all()
        except (Unwritten, OSError) as error:
            raise self._not_written(opened.writer, error) from None

    async def level_changed(self, receipt: Receipt | None) -> None:
        """Write down that a level was changed, if it was. On disk when this returns, and so is every earlier change.
        Raises `NotWrittenDown`; the record is kept then, and written as soon as that can be."""
        opened = self._usable()
        if receipt is not None:
            cause, principal = receipt.cause, receipt.principal
            record = LevelRecord(
                opened.writer.next,
                receipt.at,
                principal.user_id,
                principal.session_id,
                receipt.change,
                receipt.before.name.lower(),
                receipt.after.name.lower(),
                _said(cause.by),
                cause.server,
                cause.tool if _is_name(cause.tool) else opened.aliases.uri(cause.tool),
                opened.aliases.of(cause.dataset) if cause.dataset else "",
                receipt.number,
            )
            opened.writer.put(record)
            self._wake()
        try:
            opened.writer.write()
            await opened.sync.all()
        except (Unwritten, OSError) as error:
            told = "a level was changed, and that could not be written down in the audit log"
            raise self._not_written(opened.writer, error, told) from None

    # What is written down when it has happened

    @property
    def stuck(self) -> bool:
        """Whether nothing can be written down now."""
        opened = self._open
        return opened is not None and (opened.writer.trouble or opened.sync.trouble) is not None

    def note(self, event: object) -> None:
        """Write an event down, if it is one of those that are. Never raises: what cannot be written is kept."""
        opened = self._open
        if opened is None:
            return
        make, writer = RECORDS.get(type(event)), opened.writer
        recorded = make(event, writer.next, opened.aliases) if make is not None else None
        if recorded is None:
            return
        if writer.trouble is not None and (writer.overfull or (writer.full and not recorded[1])):
            self._left_out += 1
            return
        writer.put(recorded[0])
        if not self._writing_soon:
            self._write_soon()

    # The rest is its own affair

    def _asked(
        self,
        kind: type[Sending],
        opened: _Open,
        principal: Principal,
        request: Request,
        method: str,
        values: Mapping[str, Any] | None,
    ) -> Sending:
        aliases, tool = opened.aliases, request.tool
        if method == TOOL_CALL:
            method = ""
        else:
            tool = aliases.subject(method, tool)
        return kind(
            opened.writer.next,
            self._clock(),
            principal.user_id,
            principal.session_id,
            request.server,
            tool,
            request.lane,
            (_whole(values) if values is not None else None) or aliases.shapes(request.shapes, request.spec),
            method,
        )

    def _put(self, opened: _Open, record: Record) -> None:
        """Add a record, which is written at the end of the loop's step, with all others of that step."""
        opened.writer.put(record)
        if not self._writing_soon:
            self._write_soon()

    def _write_soon(self) -> None:
        self._writing_soon = True
        assert self._loop is not None
        self._loop.call_soon(self._write)

    def _write(self) -> None:
        self._writing_soon = False
        opened = self._open
        if opened is None:
            return
        self._wake()
        try:
            opened.writer.write()
            if self._left_out:
                left_out, self._left_out = self._left_out, 0
                opened.writer.put(LeftOut(opened.writer.next, self._clock(), left_out))
                opened.writer.write()
        except Unwritten:
            # Kept, and tried again soon. What must not be done without a record is refused meanwhile.
            return

    def _wake(self) -> None:
        if self._tending is not None:
            self._tending.wake()

    async def _settle(self) -> None:
        opened = self._usable()
        self._write()
        if opened.writer.trouble is not None:
            raise opened.writer.trouble
        await opened.sync.all()

    async def _anchor(self, *, closing: bool = False) -> None:
        opened = self._usable()
        self._write()
        opened.writer.put_now(Anchored(opened.writer.next, self._clock(), closing))
        anchor = self._here(opened)
        await opened.sync.all()
        await self._keep_anchor(opened, anchor)

    async def _keep_anchor(self, opened: _Open, anchor: Anchor | None = None) -> None:
        anchor = anchor or self._here(opened)
        await opened.anchors.keep(anchor, seal_anchor(anchor, opened.key))

    def _here(self, opened: _Open) -> Anchor:
        return Anchor(opened.slot.writer, *opened.writer.head, self._clock())

    def _begin(self, opened: _Open) -> None:
        slot, writer, common = opened.slot, opened.writer, (self._clock(), os.getpid())
        try:
            slot.file.open()
            slot.file.cut(slot.torn)
            if slot.is_new:
                writer.put_now(Began(writer.next, *common, slot.passed))
            else:
                writer.put_now(Resumed(writer.next, *common, slot.torn, slot.passed))
        except (OSError, Unwritten) as error:
            raise StoreError(
                f"the audit log cannot be written: {error}",
                cause="the disk is full, or the folder `audit` of the state folder is not ours to write",
                fix="make room, or make the folder writable, or set BASCULE_HOME to another folder",
            ) from error
        if slot.passed:
            _log.warning("the audit log is damaged in %s; run `bascule audit verify`", ", ".join(slot.passed))

    def _usable(self) -> _Open:
        if self._open is None:
            raise NotWrittenDown(
                "nothing is done any more: the audit log is closed", rule=RULE, fix="use a runtime that is running"
            )
        return self._open

    def _not_written(self, writer: AuditWriter, error: Exception | None = None, told: str = "") -> NotWrittenDown:
        self._wake()
        found = error if isinstance(error, OSError) else writer.trouble
        # No path: whoever is refused need not know where the log is.
        code = errno.errorcode.get(found.errno or 0, "") if found is not None else ""
        return NotWrittenDown(
            told or "not done: it could not be written down in the audit log first",
            rule=RULE,
            evidence=f"{code}: {found.strerror}" if found is not None else "",
            fix="make room on the disk of the state folder; it goes on by itself then",
        )


def _prepare(folder: AuditFolder, state: Path) -> tuple[str, bytes]:
    keys = KeyFiles(state / KEYS)
    return folder.make(), audit_key(keys, make=not folder.files())


def _own(writer: str, anchor: Anchor | None) -> Anchor | None:
    """A true anchor of another chain, put in this one's place, is none."""
    return anchor if anchor is not None and anchor.writer == writer else None


def _whole(values: Mapping[str, Any]) -> Any:
    """Values as they are written, whatever becomes of them later. None if JSON has no way to say them."""
    try:
        return msgspec.Raw(msgspec.json.encode(values))
    except (TypeError, ValueError, msgspec.MsgspecError):
        return None


def _said(text: str) -> str:
    """A name of this machine, which need not be text."""
    return text.encode("utf-8", "replace").decode()


def _is_name(tool: str) -> bool:
    return ":" not in tool
