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
from bascule.store.levels.interface import MOST_RECEIPTS, Poll, SessionRecord
from bascule.store.levels.position import Position, fingerprint
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

ROW, LINE, DATASET, RECEIPT = range(4)
"""The kinds of what is found."""

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
_STATE = b"""
SELECT coalesce((SELECT max(number) FROM bascule.receipts), 0), EXISTS (SELECT FROM bascule.runtimes WHERE id = %s)
"""
_ORIGIN = b"""
SELECT store_id || '/' || (SELECT system_identifier FROM pg_control_system()) || '/' ||
    left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM bascule.about
"""
"""Store id, system identifier and timeline. A replica that is promoted has the same system identifier and a new
timeline. The name of the current WAL file has the timeline at once, the control file only after a checkpoint."""

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

    async def register(self, runtime: str, at: float) -> int:
        async def work(db: Database) -> int:
            ((number, _),) = await rows(db, _STATE, runtime)
            await db.execute(
                b"INSERT INTO bascule.runtimes VALUES (%s, %s, %s)"
                b" ON CONFLICT (id) DO UPDATE SET acked = EXCLUDED.acked, since = EXCLUDED.since",
                (runtime, number, at),
            )
            return number

        await self._bell.listen()
        # Under the lock of numbers: a change that is made meanwhile is either known here, or waits for this runtime.
        # Durable: else a server that crashed would forget it, and nobody would wait for one whose lease still runs.
        return await self._changes.change(work, first=_NUMBERING)

    async def poll(self, runtime: str, after: int) -> Poll:
        ((number, registered),) = await self._looks.ask(lambda db: rows(db, _STATE, runtime))
        if number == after:
            return Poll(number, (), registered)

        async def work(db: Database) -> Poll:
            ((number, registered),) = await rows(db, _STATE, runtime)
            changed = await self._records(db, _CHANGED, {"after": after})
            # A database that knows less than it did was put back from a copy: what was known of it holds no longer.
            return Poll(number, tuple(changed), registered and number >= after)

        return await self._looks.look(work)

    async def acknowledge(self, runtime: str, number: int) -> bool:
        query = b"UPDATE bascule.runtimes SET acked = greatest(acked, %s) WHERE id = %s RETURNING id"
        return bool(await self._looks.ask(lambda db: rows(db, query, number, runtime)))

    async def laggards(self, number: int) -> frozenset[str]:
        query = b"SELECT id FROM bascule.runtimes WHERE acked < %s"
        return frozenset(runtime for (runtime,) in await self._looks.ask(lambda db: rows(db, query, number)))

    async def strike(self, runtimes: Collection[str], number: int | None = None) -> None:
        query = b"DELETE FROM bascule.runtimes WHERE id = ANY(%s) AND (%s::bigint IS NULL OR acked < %s)"
        await self._looks.ask(lambda db: db.execute(query, (list(runtimes), number, number)))

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


async def _position(db: Database, number: int | None = None) -> Position:
    """Position of the receipt with this number, else of the last one."""
    ((origin,),) = await rows(db, _ORIGIN)
    query = b"SELECT number, receipt FROM bascule.receipts "
    if number is None:
        found = await rows(db, query + b"ORDER BY number DESC LIMIT 1")
    else:
        found = await rows(db, query + b"WHERE number = %s", number)
    if not found:
        return Position(origin=origin)
    receipt = _receipt(*found[0])
    return Position(receipt.number, fingerprint(receipt.principal, receipt.epoch, receipt.at), origin)


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
