"""Sensitivity levels in SQLite, with both witnesses (rows, and the journal beside the file) and the runtimes of the
fence. A raise is one transaction, and its journal line is on disk before the commit."""

import sqlite3
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import RECOVERED, Draft, begun, ended, lowered, raised, seen
from bascule.store.levels.evidence import Evidence, ReceiptEpochs
from bascule.store.levels.interface import MOST_RECEIPTS, Laggards, Poll, SessionRecord
from bascule.store.levels.journal import Journal
from bascule.store.levels.position import Position
from bascule.store.levels.registration import KEPT, Registry, read_registry, row_of
from bascule.store.levels.signed_statement import (
    DatasetStatement,
    read_dataset,
    read_statement,
    seal,
)
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import level_key
from bascule.store.sqlite import receipts as sqlite_receipts
from bascule.store.sqlite.receipts import (
    add_receipt,
    changed_after,
    complete,
    fingerprints_from,
    holds,
    position_of,
    read_receipts,
)
from bascule.store.wakeup import Bell

WITNESSES = """
CREATE TABLE sessions (
    user_id TEXT NOT NULL, session_id TEXT NOT NULL, statement BLOB NOT NULL,
    PRIMARY KEY (user_id, session_id)
) WITHOUT ROWID;
CREATE TABLE datasets (
    user_id TEXT NOT NULL, session_id TEXT NOT NULL, name TEXT NOT NULL, statement BLOB NOT NULL,
    PRIMARY KEY (user_id, session_id, name)
) WITHOUT ROWID;
"""


class SqliteWitnesses:
    """Both witnesses of sensitivity levels: rows, and the journal. The rows are always read before the journal and
    written after it. So a row that is ahead of its line is never a change under way, but a loss."""

    def __init__(self, database: Path, keys: KeyFiles) -> None:
        self._path = database.with_name(f"{database.name}-raises")
        self._keys = keys
        self._opened: tuple[bytes, Journal] | None = None

    @property
    def key(self) -> bytes:
        return self._open()[0]

    def _open(self) -> tuple[bytes, Journal]:
        # Only who asks for a level needs the key: it is not made for others.
        if self._opened is None:
            key = level_key(self._keys)
            self._opened = key, Journal(self._path, key)
        return self._opened

    def evidence(self, db: sqlite3.Connection, principal: Principal) -> Evidence:
        key, journal = self._open()
        of = (principal.user_id, principal.session_id)
        found = db.execute(f"SELECT statement FROM sessions {_OF_ONE}", of).fetchone()  # noqa: S608 -- a constant of ours
        datasets = db.execute(f"SELECT statement FROM datasets {_OF_ONE}", of).fetchall()  # noqa: S608 -- the same
        receipts = db.execute(f"SELECT number, epoch FROM receipts {_OF_ONE}", of).fetchall()  # noqa: S608 -- the same
        journal.refresh()
        return Evidence(
            principal,
            None if found is None else read_statement(found[0], key),
            journal.lines(principal),
            tuple(read_dataset(each, key) for (each,) in datasets),
            _receipt_epochs(receipts),
        )

    def all_evidence(self, db: sqlite3.Connection) -> list[Evidence]:
        """Evidence on each agent session that has a row, a line, a dataset or a receipt."""
        key, journal = self._open()
        rows = _by_principal(db, "SELECT user_id, session_id, statement FROM sessions")
        datasets = _by_principal(db, "SELECT user_id, session_id, statement FROM datasets")
        receipts = _by_principal(db, "SELECT user_id, session_id, number, epoch FROM receipts")
        journal.refresh()
        stated = (Principal(*owner) for owner in journal.owners())
        return [
            Evidence(
                each,
                next((read_statement(statement, key) for (statement,) in rows.get(each, ())), None),
                journal.lines(each),
                tuple(read_dataset(statement, key) for (statement,) in datasets.get(each, ())),
                _receipt_epochs(receipts.get(each, ())),
            )
            for each in dict.fromkeys((*rows, *datasets, *receipts, *stated))
        ]

    def write(self, db: sqlite3.Connection, draft: Draft) -> None:
        """Writes line and row, within a transaction that keeps all other writers out. The caller commits."""
        key, journal = self._open()
        if draft.told:
            journal.sync()
        else:
            journal.tidy()
            journal.append(draft.statement, draft.settled)
        said = draft.statement
        row = (said.user_id, said.session_id, seal(said, key))
        db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", row)

    def keep_dataset(self, db: sqlite3.Connection, said: DatasetStatement) -> None:
        key, _ = self._open()
        row = (said.user_id, said.session_id, said.dataset, seal(said, key))
        db.execute("INSERT OR REPLACE INTO datasets VALUES (?, ?, ?, ?)", row)

    def keep_readable_datasets(self, db: sqlite3.Connection, evidence: Evidence) -> Evidence:
        """Give up those that cannot be read, which only an operator may ask for."""
        of = evidence.principal
        assert evidence.record is not None  # what is unknown is not lowered
        known = evidence.record.datasets.items()
        readable = tuple(DatasetStatement(of.user_id, of.session_id, name, level) for name, level in known)
        db.execute("DELETE FROM datasets WHERE user_id = ? AND session_id = ?", (of.user_id, of.session_id))
        for each in readable:
            self.keep_dataset(db, each)
        return Evidence(of, evidence.row, evidence.lines, readable, evidence.receipts)


_OF_ONE = "WHERE user_id = ? AND session_id = ?"


def _by_principal(db: sqlite3.Connection, query: str) -> dict[Principal, list[tuple[Any, ...]]]:
    """The other columns of all rows whose first two name a principal."""
    found: dict[Principal, list[tuple[Any, ...]]] = {}
    for user_id, session_id, *columns in db.execute(query):
        if (principal := _principal(user_id, session_id)) is not None:
            found.setdefault(principal, []).append(tuple(columns))
    return found


def _receipt_epochs(found: Iterable[tuple[Any, ...]]) -> ReceiptEpochs:
    # A damaged database returns values of any type.
    return ReceiptEpochs(tuple((number, epoch if isinstance(epoch, int) else None) for number, epoch in found))


def _principal(user_id: object, session_id: object) -> Principal | None:
    """The principal with these ids; None if damage has made them ids that nobody can have."""
    if not isinstance(user_id, str) or not isinstance(session_id, str):
        return None
    try:
        return Principal(user_id, session_id)
    except UsageError:
        return None


T = TypeVar("T")

SCHEMA = f"""
{WITNESSES}
{sqlite_receipts.SCHEMA}
CREATE TABLE runtimes (id TEXT PRIMARY KEY, acked INTEGER NOT NULL, since REAL NOT NULL) WITHOUT ROWID;
"""

IDENTITY = """
CREATE TABLE about (id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO about VALUES (lower(hex(randomblob(8))));
DROP TABLE runtimes;
CREATE TABLE runtimes (id TEXT PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
"""
"""Adds the id of the store, and seals the rows of runtimes. A runtime of an older version fails at its next poll, and
loses its lease."""


class Turns(Protocol):
    """Gives whoever has work on the database a turn, in a thread, in a transaction if the work begins one."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> Awaitable[T]: ...


class SqliteLevels:
    """The levels in one database file, and the runtimes on this machine that use it."""

    def __init__(self, database: Path, keys: KeyFiles, turn: Turns) -> None:
        self._witnesses = SqliteWitnesses(database, keys)
        self._bell = Bell(database)
        self._turn = turn
        self._quiet: tuple[object, object, Poll] | None = None

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

    async def receipts(self, principal: Principal | None = None, limit: int = MOST_RECEIPTS) -> tuple[Receipt, ...]:
        return await self._turn(lambda db: read_receipts(db, principal, limit))

    async def complete_receipt(
        self, number: int, closed: tuple[str, ...], twins: Mapping[str, str], fence: str
    ) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                complete(db, number, closed, twins, fence)

        await self._turn(work)

    async def position(self, number: int | None = None) -> Position:
        return await self._turn(lambda db: position_of(db, number))

    async def register(self, runtime: str, at: float, applied: Position | None = None) -> Position:
        def work(db: sqlite3.Connection) -> Position:
            with unsynced(db):
                gone = [(each,) for each in self._registry(db).left_before(at - KEPT)]
                db.executemany("DELETE FROM runtimes WHERE id = ?", gone)
                # In the transaction: a change is either before this position, or waits for this runtime.
                position = applied or position_of(db)
                self._put(db, runtime, position)
                return position

        self._bell.hang()
        return await self._turn(work)

    async def poll(self, runtime: str, after: Position) -> Poll:
        def work(db: sqlite3.Connection) -> Poll:
            # A database that has not changed since, by other connections or by this one, is not read again.
            asked = (*db.execute("PRAGMA data_version").fetchone(), db.total_changes, runtime, after)
            if self._quiet is not None and self._quiet[0] is db and self._quiet[1] == asked:
                return self._quiet[2]
            poll = self._poll(db, runtime, after)
            if poll.registered and poll.position == after:
                self._quiet = (db, asked, poll)
            return poll

        return await self._turn(work)

    async def acknowledge(self, runtime: str, position: Position) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            values = (row_of(runtime, position, self._witnesses.key), runtime)
            with unsynced(db):
                return db.execute("UPDATE runtimes SET sealed = ? WHERE id = ?", values).rowcount == 1

        return await self._turn(work)

    async def leave(self, runtime: str, at: float) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                self._put(db, runtime, Position(), at)

        await self._turn(work)

    async def laggards(self, position: Position) -> Laggards:
        def work(db: sqlite3.Connection) -> Laggards:
            return self._registry(db).laggards(position, fingerprints_from(db, position.number))

        return await self._turn(work)

    async def strike(self, runtimes: Collection[str], position: Position) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                found = self._registry(db).laggards(position, fingerprints_from(db, position.number))
                # Damage can give an id any type.
                names = [name for (name,) in db.execute("SELECT id FROM runtimes")]
                gone = [(name,) for name in names if str(name) in found.lagging.intersection(runtimes)]
                db.executemany("DELETE FROM runtimes WHERE id = ?", gone)

        await self._turn(work)

    def ring(self) -> None:
        self._bell.ring()

    async def rung(self) -> None:
        await self._bell.rung()

    def close(self) -> None:
        self._bell.take_down()

    def _poll(self, db: sqlite3.Connection, runtime: str, after: Position) -> Poll:
        # In this order: the position is never ahead of the records, and a runtime that is deregistered for a change
        # either sees that here, or finds the change.
        runtimes = self._registry(db).running
        position = position_of(db)
        if runtime not in runtimes or not (position == after or holds(db, after)):
            return Poll(position, self._all_records(db), registered=False, runtimes=runtimes)
        changed = changed_after(db, after.number) if position.number > after.number else []
        return Poll(position, tuple(self._found(db, each) for each in changed), registered=True, runtimes=runtimes)

    def _registry(self, db: sqlite3.Connection) -> Registry:
        return read_registry(db.execute("SELECT id, sealed FROM runtimes"), self._witnesses.key)

    def _put(self, db: sqlite3.Connection, runtime: str, position: Position, left: float = 0.0) -> None:
        row = (runtime, row_of(runtime, position, self._witnesses.key, left))
        db.execute("INSERT OR REPLACE INTO runtimes VALUES (?, ?)", row)

    def _all_records(self, db: sqlite3.Connection) -> tuple[SessionRecord, ...]:
        """The records of all agent sessions, also of those that only a receipt names."""
        records = [each.record for each in self._witnesses.all_evidence(db)]
        known = {each.principal: each for each in records if each is not None}
        named = (_principal(*ids) for ids in db.execute("SELECT DISTINCT user_id, session_id FROM receipts").fetchall())
        lost = [each for each in named if each is not None and each not in known]
        return (*known.values(), *(self._found(db, each) for each in lost))

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
