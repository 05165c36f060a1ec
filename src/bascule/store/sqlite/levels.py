"""Levels and their fence in SQLite. A raise is one transaction; the journal's line is on disk before it commits."""

import sqlite3
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import RECOVERED, Draft, Evidence, begun, ended, lowered, raised, seen
from bascule.store.levels.interface import Poll, SessionRecord
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.sqlite import levels__sqlite_witnesses
from bascule.store.sqlite import receipts as sqlite_receipts
from bascule.store.sqlite.levels__sqlite_witnesses import SqliteWitnesses
from bascule.store.sqlite.receipts import add_receipt, changed_after, complete, last_number, read_receipts
from bascule.store.wakeup import Bell

T = TypeVar("T")

SCHEMA = f"""
{levels__sqlite_witnesses.WITNESSES}
{sqlite_receipts.SCHEMA}
CREATE TABLE runtimes (id TEXT PRIMARY KEY, acked INTEGER NOT NULL, since REAL NOT NULL) WITHOUT ROWID;
"""


class Turns(Protocol):
    """Gives whoever has work on the database a turn, in a thread, in a transaction if the work begins one."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> Awaitable[T]: ...


class SqliteLevels:
    """The levels in one database file, and the runtimes on this machine that use it."""

    def __init__(self, database: Path, keys: KeyFiles, turn: Turns) -> None:
        self._witnesses = SqliteWitnesses(database, keys)
        self._bell = Bell(database)
        self._turn = turn

    async def begin(self, principal: Principal, at: float) -> SessionRecord:
        def work(db: sqlite3.Connection) -> SessionRecord:
            evidence = self._witnesses.evidence(db, principal)
            # Nobody is kept waiting for what has begun long ago.
            if begun(evidence, at) is None and evidence.record is not None:
                return evidence.record
            with _writing(db):
                evidence = self._witnesses.evidence(db, principal)
                return self._carry_out(db, evidence, begun(evidence, at), RECOVERED, at)[0]

        return await self._turn(work)

    async def raise_level(
        self, principal: Principal, level: DataSensitivity, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt | None]:
        def work(db: sqlite3.Connection) -> tuple[SessionRecord, Receipt | None]:
            with _writing(db):
                evidence = self._witnesses.evidence(db, principal)
                draft = raised(evidence, level, at)
                dataset = seen(evidence, cause.dataset, level) if cause.dataset else None
                record, receipt = self._carry_out(db, evidence, draft, cause, at)
                if dataset is not None:
                    self._witnesses.keep_dataset(db, dataset)
                    record = self._found(db, principal)
                return record, receipt

        return await self._turn(work)

    async def lower_level(
        self, principal: Principal, level: DataSensitivity, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt]:
        def work(db: sqlite3.Connection) -> tuple[SessionRecord, Receipt]:
            with _writing(db):
                evidence = self._witnesses.evidence(db, principal)
                draft = lowered(evidence, level)
                evidence = self._witnesses.keep_readable_datasets(db, evidence)
                record, receipt = self._carry_out(db, evidence, draft, cause, at)
            assert receipt is not None  # whatever lowers a level leaves one
            return record, receipt

        return await self._turn(work)

    async def end_session(self, principal: Principal, cause: Cause, at: float) -> tuple[SessionRecord, Receipt]:
        def work(db: sqlite3.Connection) -> tuple[SessionRecord, Receipt]:
            with _writing(db):
                evidence = self._witnesses.evidence(db, principal)
                record, receipt = self._carry_out(db, evidence, ended(evidence), cause, at)
            assert receipt is not None  # and so does whatever ends one
            return record, receipt

        return await self._turn(work)

    async def sessions(self) -> tuple[SessionRecord, ...]:
        def work(db: sqlite3.Connection) -> tuple[SessionRecord, ...]:
            records = (evidence.record for evidence in self._witnesses.all_evidence(db))
            known = [record for record in records if record is not None]
            return tuple(sorted(known, key=lambda record: record.since, reverse=True))

        return await self._turn(work)

    async def receipts(self, principal: Principal | None = None, limit: int = 1000) -> tuple[Receipt, ...]:
        return await self._turn(lambda db: read_receipts(db, principal, limit))

    async def complete_receipt(
        self, number: int, closed: tuple[str, ...], twins: Mapping[str, str], fence: str
    ) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                complete(db, number, closed, twins, fence)

        await self._turn(work)

    async def register(self, runtime: str, at: float) -> int:
        def work(db: sqlite3.Connection) -> int:
            with unsynced(db):
                number = last_number(db)
                db.execute("INSERT OR REPLACE INTO runtimes VALUES (?, ?, ?)", (runtime, number, at))
                return number

        self._bell.hang()
        return await self._turn(work)

    async def poll(self, runtime: str, after: int) -> Poll:
        def work(db: sqlite3.Connection) -> Poll:
            registered = db.execute("SELECT 1 FROM runtimes WHERE id = ?", (runtime,)).fetchone() is not None
            number = last_number(db)
            changed = changed_after(db, after) if number > after else []
            # Fewer changes than were known: another database was put in this one's place.
            return Poll(number, tuple(self._found(db, each) for each in changed), registered and number >= after)

        return await self._turn(work)

    async def acknowledge(self, runtime: str, number: int) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            with unsynced(db):
                done = db.execute("UPDATE runtimes SET acked = max(acked, ?) WHERE id = ?", (number, runtime))
                return done.rowcount == 1

        return await self._turn(work)

    async def laggards(self, number: int) -> frozenset[str]:
        def work(db: sqlite3.Connection) -> frozenset[str]:
            found = db.execute("SELECT id FROM runtimes WHERE acked < ?", (number,))
            return frozenset(runtime for (runtime,) in found)

        return await self._turn(work)

    async def strike(self, runtimes: Collection[str], number: int | None = None) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                gone = [(runtime, number, number) for runtime in runtimes]
                db.executemany("DELETE FROM runtimes WHERE id = ? AND (? IS NULL OR acked < ?)", gone)

        await self._turn(work)

    def ring(self) -> None:
        self._bell.ring()

    async def rung(self) -> None:
        await self._bell.rung()

    def close(self) -> None:
        self._bell.take_down()

    def _found(self, db: sqlite3.Connection, principal: Principal) -> SessionRecord:
        record = self._witnesses.evidence(db, principal).record
        if record is None:
            # There is a receipt of it, and neither witness knows it.
            return SessionRecord(principal, DataSensitivity.SECRET, doubt="both witnesses have lost it")
        return record

    def _carry_out(
        self, db: sqlite3.Connection, evidence: Evidence, draft: Draft | None, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt | None]:
        receipt = None
        if draft is not None:
            self._witnesses.write(db, draft)
            if draft.change is not None:
                # A change that was cut short is told as what it was, whatever made us find it.
                why = RECOVERED if draft.told else cause
                receipt = add_receipt(db, evidence.principal, draft.change, draft, why, at)
            evidence = draft.after(evidence)
        assert evidence.record is not None  # it has begun now
        return evidence.record, receipt


@contextmanager
def _writing(db: sqlite3.Connection) -> Generator[None]:
    """A transaction in which no other process writes levels or the journal. It is on disk when it ends."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def unsynced(db: sqlite3.Connection) -> Generator[None]:
    """One that may be lost with the machine's power: it then concerned runtimes that are gone too."""
    db.execute("PRAGMA synchronous = NORMAL")
    try:
        with _writing(db):
            yield
    finally:
        db.execute("PRAGMA synchronous = FULL")
