"""PostgreSQL connection for one operation at a time, with a deadline, and reconnected after a failure."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from bascule.core.errors import ConfigError, StoreError
from bascule.store.deadline import LONGEST, StoreWait, current_wait

T = TypeVar("T")

Database: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
Work: TypeAlias = Callable[[Database], Awaitable[T]]

CONNECT = 5
"""Seconds for one attempt to connect, to each of the hosts that an address names."""

_SESSION = b"""
SET search_path = pg_catalog;
SET default_transaction_isolation = 'read committed';
SET statement_timeout = '10s';
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '5s';
SET client_min_messages = warning
"""
"""A runtime that is frozen, or cut off, in the middle of a change holds its locks for five seconds and then no more:
less than others wait for a lock. And nothing that others put into the database is found in place of what we name."""

_LOOK = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""All statements see one state. A row and a line of two states would contradict each other."""

_CHANGE = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
"""Each statement sees what is true when it begins: what is read under a lock was not read before it was taken."""

_COMMIT = {True: b"synchronous_commit = on", False: b"synchronous_commit = off"}
"""Whether a commit waits for the disk. Said anew in each transaction: a pooler may forget what was said before."""


class _Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """PostgreSQL connection whose operation ends at once when its task is cancelled, also if the server is paused."""

    async def cancel_safe(self, *, timeout: float = 30.0) -> None:  # noqa: ARG002 -- psycopg's signature
        """Shuts the socket down. psycopg calls this in a cancelled task; its own request to the server to cancel, and
        the wait for the end of the operation, would add up to 10 s to the deadline of the task."""
        with suppress(OSError), socket.socket(fileno=os.dup(self.fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)


class PostgresAddress:
    """Where a database is. What else the URL holds, a password above all, is shown to nobody."""

    def __init__(self, url: str) -> None:
        try:
            self._parameters = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The words of libpq repeat parts of the address.
            raise ConfigError(
                "store: is no address of a PostgreSQL database",
                fix="write postgresql://user@host/database; in a password, write @ as %40, / as %2F and : as %3A",
            ) from None
        database, host = (self._parameters.get(each) for each in ("dbname", "host"))
        self.shown = f"{database or 'the default database'} on {host or 'this machine'}"

    def __repr__(self) -> str:
        return f"PostgresAddress({self.shown!r})"

    async def connect(self) -> Database:
        """A new connection on which each statement is a transaction, unless one is begun."""
        settings: dict[str, Any] = {
            "connect_timeout": CONNECT,
            "application_name": "bascule",
            # One of several hosts may be a copy that only reads, and lags.
            "target_session_attrs": "read-write",
            **self._parameters,
            "client_encoding": "utf8",
        }
        # Prepared statements would be lost behind a pooler, and save us nothing that counts.
        db = await _Connection.connect(**settings, autocommit=True, prepare_threshold=None)
        try:
            await db.execute(_SESSION)
        except BaseException:
            await db.close()
            raise
        return db

    def unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"the state in PostgreSQL, {self.shown}, cannot be used",
            evidence=self._told(error),
            cause="the server is down or out of reach, does not let us in, or what it holds is damaged",
            fix="see that the server runs and that the `store` of the config is right; its own log says more",
        )

    def _told(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {LONGEST:g} s"
        text = str(error).strip().partition("\n")[0] or type(error).__name__
        code = getattr(error, "sqlstate", None)
        password = str(self._parameters.get("password") or "")
        shown = text.replace(password, "[secret]") if password else text
        return f"{shown} (SQLSTATE {code})" if code else shown


@dataclass(slots=True)
class _Attempt:
    """How far an operation has come."""

    committing: bool = False
    lost: bool = False


class PostgresConnection:
    """At most one connection, and one operation on it at a time. `greet` is done first on each new connection. What is
    `durable` is on disk when it returns, whatever the server is set to."""

    def __init__(self, address: PostgresAddress, greet: Work[None], *, durable: bool) -> None:
        self._address = address
        self._greet = greet
        self._commit = _COMMIT[durable]
        self._db: Database | None = None
        self._turn = asyncio.Lock()
        self._under_way: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        async def nothing(_: Database) -> None:
            """It is open when it comes here."""

        await self._do(b"", nothing, repeatable=True)

    async def ask(self, work: Work[T]) -> T:
        """One statement by itself, which may be made twice and does no harm by that."""
        return await self._do(b"", work, repeatable=True)

    async def look(self, work: Work[T]) -> T:
        """Several statements that see one and the same state, and change nothing."""
        return await self._do(_LOOK, work, repeatable=True)

    async def change(self, work: Work[T], *, first: bytes = b"") -> T:
        """One transaction, with `first` as its first statement. It is made again only if the connection broke before
        anybody asked to commit it: after that nobody knows whether it was committed, and a raise that is said to have
        changed nothing would go unfenced."""
        begin = b"; ".join((_CHANGE, b"SET LOCAL " + self._commit, *((first,) if first else ())))
        return await self._do(begin, work, repeatable=False)

    async def close(self) -> None:
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._drop()

    async def _do(self, begin: bytes, work: Work[T], *, repeatable: bool) -> T:
        task = asyncio.ensure_future(self._in_time(current_wait(), begin, work, repeatable=repeatable))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        # A caller who gives up must not leave the connection in the middle of something: the work is let finish.
        return await asyncio.shield(task)

    async def _in_time(self, wait: StoreWait, begin: bytes, work: Work[T], *, repeatable: bool) -> T:
        """The operation, with the time that its caller has left: waiting for its turn is part of it."""
        with wait.spend() as seconds:
            deadline = asyncio.timeout(seconds)
            try:
                if not seconds:
                    raise TimeoutError
                async with deadline, self._turn:
                    return await self._in_turn(begin, work, repeatable=repeatable)
            except (psycopg.Error, OSError, UnicodeError, msgspec.MsgspecError) as error:
                # A connection that was shut down at the deadline fails with an error of its own.
                raise self._address.unusable(TimeoutError() if deadline.expired() else error) from error

    async def _in_turn(self, begin: bytes, work: Work[T], *, repeatable: bool) -> T:
        first = _Attempt()
        try:
            return await self._attempt(begin, work, first)
        except psycopg.Error:
            if told_to_stop() or not first.lost or (first.committing and not repeatable):
                raise
        # A server that was restarted is noticed only when something is asked of it.
        return await self._attempt(begin, work, _Attempt())

    async def _attempt(self, begin: bytes, work: Work[T], attempt: _Attempt) -> T:
        db = await self._connected()
        try:
            if not begin:
                return await work(db)
            await db.execute(begin)
            result = await work(db)
            attempt.committing = True
            # A transaction in which something has failed answers to COMMIT, without an error, that it was rolled back.
            if (told := (await db.execute(b"COMMIT")).statusmessage) != "COMMIT":
                raise psycopg.OperationalError(f"asked to commit, the server answered {told}")
        except BaseException as error:
            attempt.lost = db.closed
            # What a transaction that went wrong leaves behind is ended with its connection.
            if begin or isinstance(error, psycopg.Error | asyncio.CancelledError):
                await self._drop()
            raise
        return result

    async def _connected(self) -> Database:
        if self._db is None or self._db.closed:
            db = await self._address.connect()
            try:
                await db.execute(b"SET " + self._commit)
                await self._greet(db)
            except BaseException:
                await db.close()
                raise
            self._db = db
        return self._db

    async def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            await db.close()


def told_to_stop() -> bool:
    """Whether our task is cancelled, or its time is over. If the connection breaks in that moment, psycopg raises an
    error of the connection in place of the cancellation."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def rows(db: Database, query: bytes, *values: Any) -> list[tuple[Any, ...]]:
    """What a statement gives, in PostgreSQL's binary form: no setting of the server changes how that is written."""
    return await (await db.execute(query, values, binary=True)).fetchall()
