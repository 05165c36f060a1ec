"""Sensitivity levels in PostgreSQL, for several runtimes on several machines.

The two witnesses are the row of an agent session and its last line in `raises`, an append-only table. Both are written
in one transaction, under a lock of the agent session. Receipts are numbered under a lock of the whole database that is
held until the commit: a change becomes visible before any change with a higher number, so a runtime that asks for the
changes after a number misses none."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

from bascule.core.errors import StoreError, UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import RECOVERED, Draft, Evidence, begun, ended, lowered, raised, seen
from bascule.store.levels.interface import MOST_RECEIPTS, Laggards, Poll, SessionRecord
from bascule.store.levels.position import Position, position_after
from bascule.store.levels.registration import KEPT, Registry, read_registry, row_of
from bascule.store.levels.signed_statement import UNREADABLE, DatasetStatement, read_dataset, read_statement, seal
from bascule.store.postgres.connection import Database, PostgresConnection, rows
from bascule.store.postgres.notify import PostgresBell
from bascule.store.postgres.schema import LOCKS, NUMBERING, SESSION_LOCKS

ROW, LINE, DATASET, RECEIPT, RUNTIME, ORIGIN = range(6)
"""Kinds of rows. Of receipts of a session it only counts that there are any: both witnesses know such a session."""

_OF_ONE = b"""
SELECT 0, sealed FROM bascule.sessions WHERE user_id = %(user)s AND session_id = %(session)s
UNION ALL (
    SELECT 1, sealed FROM bascule.raises WHERE user_id = %(user)s AND session_id = %(session)s
    ORDER BY number DESC LIMIT 1
)
UNION ALL SELECT 2, sealed FROM bascule.datasets WHERE user_id = %(user)s AND session_id = %(session)s
UNION ALL (SELECT 3, ''::bytea FROM bascule.receipts WHERE user_id = %(user)s AND session_id = %(session)s LIMIT 1)
"""
"""One statement, so that both witnesses are seen in one state: of two states they would contradict each other."""

_ALL = b"""
SELECT 0, user_id, session_id, sealed FROM bascule.sessions WHERE true
UNION ALL (
    SELECT DISTINCT ON (user_id, session_id) 1, user_id, session_id, sealed FROM bascule.raises WHERE true
    ORDER BY user_id, session_id, number DESC
)
UNION ALL SELECT 2, user_id, session_id, sealed FROM bascule.datasets WHERE true
UNION ALL SELECT DISTINCT 3, user_id, session_id, ''::bytea FROM bascule.receipts WHERE true
"""
_CHANGED = _ALL.replace(
    b"WHERE true",
    b"WHERE (user_id, session_id) IN (SELECT user_id, session_id FROM bascule.receipts WHERE number > %(after)s)",
)
_ORIGIN_OF = b"""
store_id || '/' || (SELECT system_identifier FROM pg_control_system()) || '/' ||
    left(pg_walfile_name(pg_current_wal_lsn()), 8)
"""
"""Store id, system identifier and timeline. A replica that is promoted has the same system identifier and a new
timeline. The name of the current WAL file has the timeline at once, the control file only after a checkpoint."""

_ORIGIN = b"SELECT" + _ORIGIN_OF + b"FROM bascule.about"
_RUNTIMES = b"UNION ALL SELECT 4, id, 0, sealed FROM bascule.runtimes"
_STATE = (
    b"SELECT 5,"
    + _ORIGIN_OF
    + b""", 0::bigint, ''::bytea FROM bascule.about
UNION ALL SELECT 3, '', number, receipt FROM bascule.receipts
    WHERE number = %(number)s OR number = (SELECT max(number) FROM bascule.receipts)
"""
    + _RUNTIMES
)
"""One statement, so that the origin, the receipts (one by its number, and the last one) and the runtimes are of one
state."""

_ACKNOWLEDGED = b"SELECT 3, '', number, receipt FROM bascule.receipts WHERE number >= %(number)s " + _RUNTIMES

_NUMBERING = b"SELECT pg_advisory_xact_lock(%d, %d)" % (LOCKS, NUMBERING)

_RECEIPT = msgspec.json.Decoder(Receipt)


class PostgresLevels:
    """The levels of one database. `key` is set before anything is read or written."""

    def __init__(self, changes: PostgresConnection, looks: PostgresConnection, bell: PostgresBell) -> None:
        self._changes = changes
        self._looks = looks
        self._bell = bell
        self._ringing: asyncio.Task[None] | None = None
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
        return await self._looks.look(lambda db: _position(db, number))

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
        state = await self._looks.ask(lambda db: self._state(db, after.number))
        if state.last == after and runtime in (runtimes := state.registry.running):
            return Poll(after, (), registered=True, runtimes=runtimes)

        async def work(db: Database) -> Poll:
            state = await self._state(db, after.number)
            runtimes = state.registry.running
            registered = runtime in runtimes and state.holds(after)
            changed = await self._records(db, _CHANGED if registered else _ALL, {"after": after.number})
            return Poll(state.last, tuple(changed), registered, runtimes)

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

    async def _state(self, db: Database, number: int = 0) -> "_State":
        """The last position of the store, the receipt with this number, and the runtimes, all at one moment."""
        found = await (await db.execute(_STATE, {"number": number}, binary=True)).fetchall()
        receipts = _fingerprints(found)
        last = max(receipts, default=0)
        mark = receipts.get(last, "")
        if mark is None:
            raise msgspec.ValidationError(f"receipt {last} cannot be read")
        origin = _origin(name for what, name, _, _ in found if what == ORIGIN)
        return _State(Position(last, mark, origin), receipts, self._registry(found))

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
            receipt = None if draft is None else await self._write(db, draft, principal, cause, at)
            if dataset is not None:
                await self._keep_dataset(db, dataset)
            if draft is not None and draft.change == "declassify":
                await self._keep_readable_datasets(db, evidence)
            return await self._evidence(db, principal), receipt

        return await self._changes.change(work, first=_lock_of(principal))

    async def _write(self, db: Database, draft: Draft, principal: Principal, cause: Cause, at: float) -> Receipt | None:
        values = (*_ids(principal), seal(draft.statement, self.key))
        if not draft.told:
            await db.execute(b"INSERT INTO bascule.raises (user_id, session_id, sealed) VALUES (%s, %s, %s)", values)
        await db.execute(
            b"INSERT INTO bascule.sessions VALUES (%s, %s, %s)"
            b" ON CONFLICT (user_id, session_id) DO UPDATE SET sealed = EXCLUDED.sealed",
            values,
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
        found: dict[Principal, list[tuple[int, object]]] = defaultdict(list)
        for what, user_id, session_id, sealed in await (await db.execute(query, values, binary=True)).fetchall():
            # Ids that nobody can have were put there by hand, and are nobody's.
            with suppress(UsageError):
                found[Principal(user_id, session_id)].append((what, sealed))
        return [_record(self._weighed(principal, parts)) for principal, parts in found.items()]

    def _weighed(self, principal: Principal, found: Iterable[tuple[int, object]]) -> Evidence:
        parts: dict[int, list[object]] = {ROW: [], LINE: [], DATASET: [], RECEIPT: []}
        for what, sealed in found:
            parts[what].append(sealed)
        row, line = (next((read_statement(each, self.key) for each in parts[what]), None) for what in (ROW, LINE))
        if row is None and line is None and parts[RECEIPT]:
            row = UNREADABLE
        return Evidence(principal, row, line, tuple(read_dataset(each, self.key) for each in parts[DATASET]))


async def _position(db: Database, number: int | None = None) -> Position:
    """Position of the receipt with this number, else of the last one."""
    origin = _origin(name for (name,) in await rows(db, _ORIGIN))
    query = b"SELECT number, receipt FROM bascule.receipts "
    if number is None:
        found = await rows(db, query + b"ORDER BY number DESC LIMIT 1")
    else:
        found = await rows(db, query + b"WHERE number = %s", number)
    if not found:
        return Position(origin=origin)
    receipt = _receipt(*found[0])
    return position_after(receipt, origin)


class _State(msgspec.Struct, frozen=True):
    """Position of the store and its runtimes. `receipts` has the fingerprints of some receipts by number; None for one
    that cannot be read."""

    last: Position
    receipts: Mapping[int, str | None]
    registry: Registry

    def holds(self, position: Position) -> bool:
        mark = self.receipts.get(position.number) if position.number else ""
        return (mark, self.last.origin) == (position.fingerprint, position.origin)


def _origin(found: Iterable[str]) -> str:
    for origin in found:
        return origin
    raise msgspec.ValidationError("the store has lost its id")


def _fingerprints(found: Iterable[tuple[Any, ...]]) -> dict[int, str | None]:
    return {number: _mark(number, content) for what, _, number, content in found if what == RECEIPT}


def _mark(number: int, encoded: bytes) -> str | None:
    try:
        return position_after(_receipt(number, encoded)).fingerprint
    except msgspec.MsgspecError:
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


def _lock_of(principal: Principal) -> bytes:
    # Two that share a hash wait for each other, and nothing worse.
    name = int.from_bytes(sha256(msgspec.json.encode(_ids(principal))).digest()[:4], signed=True)
    return b"SELECT pg_advisory_xact_lock(%d, %d)" % (SESSION_LOCKS, name)
