"""Sensitivity levels in PostgreSQL, for several runtimes on several machines.

The two witnesses are the row of an agent session and its chained lines in `raises`, an append-only table. Both are
written in one transaction, under a lock of the agent session. Receipts are numbered under a lock of the whole database
that is held until the commit: a change becomes visible before any change with a higher number, so a runtime that asks
for the changes after a number misses none."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from bascule.core.errors import StoreError, UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import RECOVERED, Draft, begun, ended, lowered, raised, seen
from bascule.store.levels.evidence import NO_LINES, Evidence, ReceiptEpochs, about_line
from bascule.store.levels.interface import MOST_RECEIPTS, Laggards, Poll, SessionRecord
from bascule.store.levels.position import UNREADABLE, Position, position_after
from bascule.store.levels.registration import KEPT, Registry, read_registry, row_of
from bascule.store.levels.signed_statement import (
    DatasetStatement,
    mac_of,
    read_dataset,
    read_line,
    read_statement,
    seal,
)
from bascule.store.postgres.connection import Database, PostgresConnection, rows
from bascule.store.postgres.notify import PostgresBell
from bascule.store.postgres.schema import LOCKS, NUMBERING, SESSION_LOCKS

ROW, LINE, DATASET, RECEIPT, RUNTIME = range(5)
"""Kinds of rows."""

_OF_ONE = b"""
SELECT 0, 0::bigint, sealed FROM bascule.sessions WHERE user_id = %(user)s AND session_id = %(session)s
UNION ALL SELECT 1, number, sealed FROM bascule.raises WHERE user_id = %(user)s AND session_id = %(session)s
UNION ALL SELECT 2, 0, sealed FROM bascule.datasets WHERE user_id = %(user)s AND session_id = %(session)s
UNION ALL SELECT 3, number, receipt FROM bascule.receipts WHERE user_id = %(user)s AND session_id = %(session)s
"""
"""One statement, so that all evidence is of one state: two states would contradict each other."""

_ALL = b"""
SELECT user_id, session_id, 0, 0::bigint, sealed FROM bascule.sessions WHERE true
UNION ALL SELECT user_id, session_id, 1, number, sealed FROM bascule.raises WHERE true
UNION ALL SELECT user_id, session_id, 2, 0, sealed FROM bascule.datasets WHERE true
UNION ALL SELECT user_id, session_id, 3, number, receipt FROM bascule.receipts WHERE true
"""
_CHANGED = _ALL.replace(
    b"WHERE true",
    b"WHERE (user_id, session_id) IN (SELECT user_id, session_id FROM bascule.receipts WHERE number > %(after)s)",
)
_INSTANCE = b"""
SELECT store_id, timestamptz_send(pg_postmaster_start_time()), left(pg_walfile_name(pg_current_wal_lsn()), 8),
"""
"""Store id, start of the server, and timeline. A replica that is promoted has a new timeline. The name of the current
WAL file has the timeline at once, the control file only after a checkpoint."""

_STATE = (
    _INSTANCE
    + b"""
    (SELECT int8send(number) || receipt FROM bascule.receipts ORDER BY number DESC LIMIT 1),
    ARRAY(SELECT convert_to(id || ' ', 'UTF8') || sealed FROM bascule.runtimes)
FROM bascule.about
"""
)
"""All that a poll needs while nothing changes, in one row: the last receipt, and the runtimes."""

_IDENTIFIED = _INSTANCE + b"system_identifier FROM bascule.about, pg_control_system()"
"""Read once for each instance: the server reads the identifier from a file, which doubles the time of a poll."""

_ACKNOWLEDGED = b"""
SELECT 3, '', number, receipt FROM bascule.receipts WHERE number >= %(number)s
UNION ALL SELECT 4, id, 0, sealed FROM bascule.runtimes
"""

_NUMBERING = b"SELECT pg_advisory_xact_lock(%d, %d)" % (LOCKS, NUMBERING)

_RECEIPT = msgspec.json.Decoder(Receipt)

_Found: TypeAlias = tuple[int, int, bytes]
"""Kind, number in its table, and content."""


class PostgresLevels:
    """The levels of one database. `key` is set before anything is read or written."""

    def __init__(self, changes: PostgresConnection, looks: PostgresConnection, bell: PostgresBell) -> None:
        self._changes = changes
        self._looks = looks
        self._bell = bell
        self._ringing: asyncio.Task[None] | None = None
        self._origins: dict[tuple[Any, ...], str] = {}
        self._read: tuple[object, bytes, _State | None] = (None, b"", None)
        self.key = b""

    # Levels

    async def begin(self, principal: Principal, at: float) -> SessionRecord:
        evidence = await self._looks.ask(lambda db: self._evidence(db, principal))
        if begun(evidence, at) is not None:
            evidence, _ = await self._change(principal, lambda found: begun(found, at), RECOVERED, at)
        return _record(evidence)

    async def raise_level(
        self, principal: Principal, level: DataSensitivity, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt | None]:
        evidence, receipt = await self._change(principal, lambda found: raised(found, level, at), cause, at, level)
        return _record(evidence), receipt

    async def lower_level(
        self, principal: Principal, level: DataSensitivity, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt]:
        evidence, receipt = await self._change(principal, lambda found: lowered(found, level), cause, at)
        assert receipt is not None  # whatever lowers a level leaves one
        return _record(evidence), receipt

    async def end_session(self, principal: Principal, cause: Cause, at: float) -> tuple[SessionRecord, Receipt]:
        evidence, receipt = await self._change(principal, ended, cause, at)
        assert receipt is not None  # and so does whatever ends one
        return _record(evidence), receipt

    async def sessions(self) -> tuple[SessionRecord, ...]:
        found = await self._looks.ask(lambda db: self._records(db, _ALL, {}))
        return tuple(sorted(found, key=lambda record: record.since, reverse=True))

    async def receipts(self, principal: Principal | None = None, limit: int = MOST_RECEIPTS) -> tuple[Receipt, ...]:
        async def work(db: Database) -> tuple[Receipt, ...]:
            of_one = b"" if principal is None else b"WHERE user_id = %s AND session_id = %s "
            query = b"SELECT number, receipt FROM bascule.receipts " + of_one + b"ORDER BY number DESC LIMIT %s"
            found = await rows(db, query, *(_ids(principal) if principal is not None else ()), limit)
            return tuple(_receipt(*row) for row in reversed(found))

        return await self._looks.ask(work)

    async def complete_receipt(
        self, number: int, closed: tuple[str, ...], twins: Mapping[str, str], fence: str
    ) -> None:
        async def work(db: Database) -> None:
            query = b"SELECT number, receipt FROM bascule.receipts WHERE number = %s FOR UPDATE"
            found = await rows(db, query, number)
            if not found:
                raise UsageError(f"there is no receipt {number}", fix="complete a receipt that a change has returned")
            kept = _receipt(*found[0])
            full = msgspec.structs.replace(
                kept,
                closed=tuple(dict.fromkeys((*kept.closed, *closed))),
                twins={**kept.twins, **twins},
                fence=fence or kept.fence,
            )
            values = (msgspec.json.encode(full), number)
            await db.execute(b"UPDATE bascule.receipts SET receipt = %s WHERE number = %s", values)

        await self._looks.change(work)

    async def position(self, number: int | None = None) -> Position:
        async def work(db: Database) -> Position:
            last = (await self._state(db)).last
            if number is None or number == last.number:
                return last
            found = await rows(db, b"SELECT number, receipt FROM bascule.receipts WHERE number = %s", number)
            return position_after(_receipt(*found[0]), last.origin) if found else Position(origin=last.origin)

        return await self._looks.ask(work)

    # The fence

    async def register(self, runtime: str, at: float, applied: Position | None = None) -> Position:
        async def work(db: Database) -> Position:
            state = await self._state(db)
            position = applied or state.last
            if gone := state.registry.left_before(at - KEPT):
                await db.execute(b"DELETE FROM bascule.runtimes WHERE id = ANY(%s)", (gone,))
            await self._put(db, runtime, position)
            return position

        await self._bell.listen()
        # Under the lock of numbers: a change that is made meanwhile is either known here, or waits for this runtime.
        # Durable: else a server that crashed would forget it, and nobody would wait for one whose lease still runs.
        return await self._changes.change(work, first=_NUMBERING)

    async def poll(self, runtime: str, after: Position) -> Poll:
        state = await self._looks.ask(self._state)
        if state.last == after and runtime in state.running:
            return Poll(after, (), registered=True, runtimes=state.running)

        async def work(db: Database) -> Poll:
            state = await self._state(db)
            registered = runtime in state.running and await self._holds(db, state, after)
            changed = await self._records(db, _CHANGED if registered else _ALL, {"after": after.number})
            return Poll(state.last, tuple(changed), registered, state.running)

        return await self._looks.look(work)

    async def acknowledge(self, runtime: str, position: Position) -> bool:
        query = b"UPDATE bascule.runtimes SET sealed = %s WHERE id = %s RETURNING id"
        return bool(await self._looks.ask(lambda db: rows(db, query, row_of(runtime, position, self.key), runtime)))

    async def leave(self, runtime: str, at: float) -> None:
        await self._looks.ask(lambda db: self._put(db, runtime, Position(), at))

    async def laggards(self, position: Position) -> Laggards:
        return await self._looks.ask(lambda db: self._laggards(db, position))

    async def strike(self, runtimes: Collection[str], position: Position) -> None:
        async def work(db: Database) -> None:
            found = await rows(db, b"SELECT id, sealed FROM bascule.runtimes WHERE id = ANY(%s)", list(runtimes))
            lagging = (await self._laggards(db, position)).lagging
            gone = [row for row in found if row[0] in lagging]
            # Only rows that are as they were found: a runtime that has acknowledged since stays.
            query = (
                b"DELETE FROM bascule.runtimes WHERE (id, sealed) IN (SELECT * FROM unnest(%s::text[], %s::bytea[]))"
            )
            await db.execute(query, ([name for name, _ in gone], [sealed for _, sealed in gone]))

        await self._looks.ask(work)

    def ring(self) -> None:
        if self._ringing is None or self._ringing.done():
            self._ringing = asyncio.create_task(self._ring(), name="ring")

    async def rung(self) -> None:
        await self._bell.rung()

    async def close(self) -> None:
        if self._ringing is not None:
            await asyncio.wait((self._ringing,))
        await self._bell.close()

    async def _ring(self) -> None:
        with suppress(StoreError):
            await self._looks.ask(self._bell.ring)

    async def _state(self, db: Database) -> "_State":
        """The last position of the store and its runtimes, at one moment. Verifies only what has changed."""
        row = await (await db.execute(_STATE, binary=True)).fetchone()
        if row is None:
            raise msgspec.ValidationError("the store has lost its id")
        read, key, state = self._read
        if state is None or (read, key) != (row, self.key):
            *instance, last, runtimes = row
            entries = (entry.partition(b" ") for entry in runtimes)
            registry = read_registry(((name.decode(), sealed) for name, _, sealed in entries), self.key)
            state = _State(_last(last, await self._origin(db, tuple(instance))), registry, registry.running)
            self._read = (row, self.key, state)
        return state

    async def _origin(self, db: Database, instance: tuple[Any, ...]) -> str:
        if instance not in self._origins:
            for *other, identifier in await rows(db, _IDENTIFIED):
                store_id, _, timeline = other
                self._origins = {tuple(other): f"{store_id}/{identifier}/{timeline}"}
        try:
            return self._origins[instance]
        except KeyError:
            raise msgspec.ValidationError("the server was replaced between two statements") from None

    async def _holds(self, db: Database, state: "_State", position: Position) -> bool:
        """Whether this database has the receipt of a position."""
        if position.number in (0, state.last.number):
            return position in (state.last, Position(origin=state.last.origin))
        found = await rows(db, b"SELECT number, receipt FROM bascule.receipts WHERE number = %s", position.number)
        marks = _fingerprints((RECEIPT, "", *row) for row in found)
        return (marks.get(position.number), state.last.origin) == (position.fingerprint, position.origin)

    async def _laggards(self, db: Database, position: Position) -> Laggards:
        found = await (await db.execute(_ACKNOWLEDGED, {"number": position.number}, binary=True)).fetchall()
        return self._registry(found).laggards(position, _fingerprints(found))

    def _registry(self, found: Iterable[tuple[Any, ...]]) -> Registry:
        return read_registry(((name, content) for what, name, _, content in found if what == RUNTIME), self.key)

    async def _put(self, db: Database, runtime: str, position: Position, left: float = 0.0) -> None:
        await db.execute(
            b"INSERT INTO bascule.runtimes VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET sealed = EXCLUDED.sealed",
            (runtime, row_of(runtime, position, self.key, left)),
        )

    async def _change(
        self,
        principal: Principal,
        decide: Callable[[Evidence], Draft | None],
        cause: Cause,
        at: float,
        seen_at: DataSensitivity | None = None,
    ) -> tuple[Evidence, Receipt | None]:
        async def work(db: Database) -> tuple[Evidence, Receipt | None]:
            evidence = await self._evidence(db, principal)
            draft = decide(evidence)
            dataset = seen(evidence, cause.dataset, seen_at) if cause.dataset and seen_at is not None else None
            if draft is None and dataset is None:
                return evidence, None
            receipt = None if draft is None else await self._write(db, draft, evidence, cause, at)
            if dataset is not None:
                await self._keep_dataset(db, dataset)
            if draft is not None and draft.change == "declassify":
                await self._keep_readable_datasets(db, evidence)
            return await self._evidence(db, principal), receipt

        return await self._changes.change(work, first=_lock_of(principal))

    async def _write(self, db: Database, draft: Draft, evidence: Evidence, cause: Cause, at: float) -> Receipt | None:
        principal = evidence.principal
        if not draft.told:
            line = evidence.lines.next_line(draft.statement, draft.settled)
            await db.execute(
                b"INSERT INTO bascule.raises (user_id, session_id, sealed) VALUES (%s, %s, %s)",
                (*_ids(principal), seal(line, self.key)),
            )
        await db.execute(
            b"INSERT INTO bascule.sessions VALUES (%s, %s, %s)"
            b" ON CONFLICT (user_id, session_id) DO UPDATE SET sealed = EXCLUDED.sealed",
            (*_ids(principal), seal(draft.statement, self.key)),
        )
        if draft.change is None:
            return None
        statement = draft.statement
        receipt = Receipt(
            0,
            draft.change,
            principal,
            at,
            draft.before,
            statement.level,
            statement.epoch,
            RECOVERED if draft.told else cause,
        )
        await db.execute(_NUMBERING)
        query = b"INSERT INTO bascule.receipts (user_id, session_id, receipt) VALUES (%s, %s, %s) RETURNING number"
        ((number,),) = await rows(db, query, *_ids(principal), msgspec.json.encode(receipt))
        return msgspec.structs.replace(receipt, number=number)

    async def _keep_dataset(self, db: Database, dataset: DatasetStatement) -> None:
        place = sha256(dataset.dataset.encode()).digest()
        await db.execute(
            b"INSERT INTO bascule.datasets VALUES (%s, %s, %s, %s)"
            b" ON CONFLICT (user_id, session_id, place) DO UPDATE SET sealed = EXCLUDED.sealed",
            (dataset.user_id, dataset.session_id, place, seal(dataset, self.key)),
        )

    async def _keep_readable_datasets(self, db: Database, evidence: Evidence) -> None:
        """Give up those that cannot be read, which only an operator may ask for."""
        of = _ids(evidence.principal)
        await db.execute(b"DELETE FROM bascule.datasets WHERE user_id = %s AND session_id = %s", of)
        for name, level in _record(evidence).datasets.items():
            await self._keep_dataset(db, DatasetStatement(*of, name, level))

    async def _evidence(self, db: Database, principal: Principal) -> Evidence:
        values = {"user": principal.user_id, "session": principal.session_id}
        found = await (await db.execute(_OF_ONE, values, binary=True)).fetchall()
        return self._weighed(principal, found)

    async def _records(self, db: Database, query: bytes, values: dict[str, Any]) -> list[SessionRecord]:
        found: dict[Principal, list[_Found]] = defaultdict(list)
        for user_id, session_id, *one in await (await db.execute(query, values, binary=True)).fetchall():
            # Ids that no principal can have were put there by hand.
            with suppress(UsageError):
                found[Principal(user_id, session_id)].append((one[0], one[1], one[2]))
        return [_record(self._weighed(principal, parts)) for principal, parts in found.items()]

    def _weighed(self, principal: Principal, found: Iterable[_Found]) -> Evidence:
        parts: dict[int, list[tuple[int, bytes]]] = {ROW: [], LINE: [], DATASET: [], RECEIPT: []}
        for kind, number, sealed in found:
            parts[kind].append((number, sealed))
        lines = NO_LINES
        for _, sealed in sorted(parts[LINE]):
            lines = lines.extend(about_line(principal, read_line(sealed, self.key)), mac_of(sealed))
        return Evidence(
            principal,
            next((read_statement(sealed, self.key) for _, sealed in parts[ROW]), None),
            lines,
            tuple(read_dataset(sealed, self.key) for _, sealed in parts[DATASET]),
            ReceiptEpochs(tuple((number, _epoch_of(principal, sealed)) for number, sealed in parts[RECEIPT])),
        )


class _State(msgspec.Struct, frozen=True):
    """Last position of a store, and its runtimes."""

    last: Position
    registry: Registry
    running: frozenset[str]


def _last(entry: bytes | None, origin: str) -> Position:
    if entry is None:
        return Position(origin=origin)
    number = int.from_bytes(entry[:8], signed=True)
    try:
        return position_after(_receipt(number, entry[8:]), origin)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Position(number, UNREADABLE, origin)


def _fingerprints(found: Iterable[tuple[Any, ...]]) -> dict[int, str | None]:
    return {number: _mark(number, content) for what, _, number, content in found if what == RECEIPT}


def _mark(number: int, encoded: bytes) -> str | None:
    try:
        return position_after(_receipt(number, encoded)).fingerprint
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _record(evidence: Evidence) -> SessionRecord:
    assert evidence.record is not None  # something was found, or was just written
    return evidence.record


def _ids(principal: Principal) -> tuple[str, str]:
    return principal.user_id, principal.session_id


def _receipt(number: int, encoded: bytes) -> Receipt:
    try:
        return msgspec.structs.replace(_RECEIPT.decode(encoded), number=number)
    except UsageError as error:  # no principal has such an id
        raise msgspec.ValidationError(f"receipt {number} cannot be read") from error


def _epoch_of(principal: Principal, encoded: bytes) -> int | None:
    """The epoch of a receipt of this principal; None for one that cannot be read, or is of another."""
    try:
        receipt = _RECEIPT.decode(encoded)
    except (msgspec.MsgspecError, UsageError, RecursionError):
        return None
    return receipt.epoch if receipt.principal == principal else None


def _lock_of(principal: Principal) -> bytes:
    # Two that share a hash wait for each other, and nothing worse.
    name = int.from_bytes(sha256(msgspec.json.encode(_ids(principal))).digest()[:4], signed=True)
    return b"SELECT pg_advisory_xact_lock(%d, %d)" % (SESSION_LOCKS, name)
