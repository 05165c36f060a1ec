"""Store in one SQLite file, with the audit anchors and the listings. All work runs in threads, so that a slow disk does
not block the event loop."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bascule.core.errors import StoreError
from bascule.files.regular_file import check_database
from bascule.store.audit.anchors import Anchor
from bascule.store.deadline import current_wait, overdue
from bascule.store.interface import KeptListing, ListingKey
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.sqlite import levels, owners
from bascule.store.sqlite.levels import SqliteLevels, Turns
from bascule.store.sqlite.owners import SqliteOwners

T = TypeVar("T")

_ANCHORS = """
CREATE TABLE anchors (writer TEXT PRIMARY KEY, sequence INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID;
"""

_FORWARD = """
INSERT INTO anchors VALUES (?, ?, ?) ON CONFLICT (writer) DO UPDATE
SET sequence = excluded.sequence, sealed = excluded.sealed WHERE excluded.sequence > anchors.sequence
"""


class SqliteAnchors:
    """The anchors in one database file."""

    def __init__(self, turn: Turns) -> None:
        self._turn = turn

    async def keep(self, anchor: Anchor, sealed: bytes) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            return db.execute(_FORWARD, (anchor.writer, anchor.sequence, sealed)).rowcount == 1

        return await self._turn(work)

    async def sealed(self) -> dict[str, object]:
        return await self._turn(lambda db: dict(db.execute("SELECT writer, sealed FROM anchors").fetchall()))


_LISTINGS = """
CREATE TABLE listings (
    home TEXT NOT NULL, sandbox TEXT NOT NULL, server TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (home, sandbox, server)
) WITHOUT ROWID;
CREATE TABLE tool_digests (
    home TEXT NOT NULL, sandbox TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (home, sandbox, server, tool)
) WITHOUT ROWID;
"""

_MIGRATIONS = (_LISTINGS, levels.SCHEMA, _ANCHORS, owners.SCHEMA, levels.IDENTITY)
"""Each leads from the version that is its place to the next."""

SCHEMA_VERSION = len(_MIGRATIONS)

ATTEMPTS, PAUSE = 20, 0.1
"""How often, and after how many seconds, opening is tried again, within the deadline."""

PRIMARY = 0xFF
"""The part of SQLite's error codes that tells the kind."""

PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})


class SqliteStore:
    """One database file, one connection, one operation at a time. `state_folder` is where keys are, if they are not
    beside the file."""

    def __init__(self, path: Path, state_folder: Path | None = None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._turn = threading.Lock()
        keys = KeyFiles((state_folder or path.parent) / FOLDER)
        self.levels = SqliteLevels(path, keys, self._do)
        self.anchors = SqliteAnchors(self._do)
        self.owners = SqliteOwners(keys, self._do)

    async def open(self) -> None:
        await self._do(lambda _: None)

    async def listing(self, key: ListingKey) -> KeptListing | None:
        return await self._do(lambda db: _read_listing(db, key))

    async def keep_listing(self, key: ListingKey, listing: KeptListing) -> None:
        await self._do(lambda db: _write_listing(db, key, listing))

    async def close(self) -> None:
        def end() -> None:
            with self._turn:
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None

        self.levels.close()
        await asyncio.to_thread(end)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        # A caller who gives up must not leave the connection in use behind their back: the work is let finish.
        with current_wait().spend() as seconds:
            return await asyncio.shield(asyncio.to_thread(self._in_turn, work, time.monotonic() + seconds))

    def _in_turn(self, work: Callable[[sqlite3.Connection], T], deadline: float) -> T:
        if not self._turn.acquire(timeout=left_until(deadline)):
            raise overdue()
        try:
            connection = self._connected(deadline)
            wait_until(connection, deadline)
            with connection:
                return work(connection)
        # What SQLite says of a damaged file may quote the damage, which is not always text.
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise _unusable(self._path, error) from error
        finally:
            self._turn.release()

    def _connected(self, deadline: float) -> sqlite3.Connection:
        """The connection to the file at the path. A backup that is put there is another file, and an open connection
        would go on with the old one, which no other process sees any more."""
        if self._connection is not None and _file_at(self._path) != self._file:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection, self._file = _connect_to_file(self._path, deadline)
        return self._connection


def _file_at(path: Path) -> tuple[int, int] | None:
    """Device and inode. An inode number is not used again while a connection has the file open."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _connect_to_file(path: Path, deadline: float) -> tuple[sqlite3.Connection, tuple[int, int]]:
    """A connection, and the file that it has open. A file that was put there, or made, meanwhile is opened again: which
    of the two is open is not known. Opened and closed by this function itself, it would lose SQLite's locks."""
    for _ in range(ATTEMPTS):
        before = _file_at(path)
        connection = _connect(path, deadline)
        if before is not None and before == _file_at(path):
            return connection, before
        connection.close()
    raise sqlite3.OperationalError("it is replaced again and again")


def left_until(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.0)


def wait_until(db: sqlite3.Connection, deadline: float) -> None:
    """Limit the next wait for other processes that write."""
    db.execute(f"PRAGMA busy_timeout = {round(1000 * left_until(deadline))}")


def _connect(path: Path, deadline: float) -> sqlite3.Connection:
    """Open the database. Processes that make it at the same time, or close it while it is opened, can be in the way of
    each other without SQLite waiting for them: that passes."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _opened(path, deadline)
        except sqlite3.OperationalError as error:
            passes = getattr(error, "sqlite_errorcode", 0) & PRIMARY in PASSING
            if not passes or left_until(deadline) < PAUSE:
                raise
            time.sleep(PAUSE)
    return _opened(path, deadline)


def _opened(path: Path, deadline: float) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    check_database(path)
    connection = sqlite3.connect(path, timeout=left_until(deadline), check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer Bascule",
            evidence=f"schema {version}, this version knows {SCHEMA_VERSION}",
            fix="update Bascule, or set BASCULE_HOME to another folder",
        )
    if version < SCHEMA_VERSION:
        with connection:
            # Taken before anything is looked at: two processes may be the first ones at the same time.
            connection.execute("BEGIN IMMEDIATE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for statement in filter(str.strip, ";".join(_MIGRATIONS[version:]).split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _read_listing(db: sqlite3.Connection, key: ListingKey) -> KeptListing | None:
    where = "WHERE home = ? AND sandbox = ? AND server = ?"
    values = (key.home, key.sandbox, key.server)
    row = db.execute(f"SELECT digest FROM listings {where}", values).fetchone()  # noqa: S608 -- a constant of ours
    if row is None:
        return None
    tools = db.execute(f"SELECT tool, digest FROM tool_digests {where}", values)  # noqa: S608 -- the same
    return KeptListing(row[0], dict(tools.fetchall()))


def _write_listing(db: sqlite3.Connection, key: ListingKey, listing: KeptListing) -> None:
    place = (key.home, key.sandbox, key.server)
    db.execute("DELETE FROM tool_digests WHERE home = ? AND sandbox = ? AND server = ?", place)
    rows = ((*place, tool, digest) for tool, digest in listing.tools.items())
    db.executemany("INSERT INTO tool_digests VALUES (?, ?, ?, ?, ?)", rows)
    db.execute("INSERT OR REPLACE INTO listings VALUES (?, ?, ?, ?)", (*place, listing.digest))


def _unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"the state in {path} cannot be used: {error}",
        cause="the folder is not ours to write, the disk is full, or the file is damaged or locked by another program",
        fix=f"make {path.parent} writable, or set BASCULE_HOME to another folder; move a damaged file out of the way",
    )
