"""Membership and ownership of agent sessions in SQLite: several processes on one machine, by the clock of that
machine."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Collection

from bascule.core.principal import Principal
from bascule.store.owners import KEPT, LIFE, Member, secret_of
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import level_key
from bascule.store.sqlite.levels import Turns, unsynced

SCHEMA = """
CREATE TABLE IF NOT EXISTS members (
    id TEXT PRIMARY KEY, address TEXT NOT NULL, leaving INTEGER NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owners (
    user_id TEXT NOT NULL, session_id TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY (user_id, session_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS owners_by_member ON owners (member);
"""


def since_boot() -> float:
    """Seconds, by a clock that nobody sets and all processes share."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SqliteOwners:
    """The members on one database file."""

    def __init__(self, keys: KeyFiles, turn: Turns, clock: Callable[[], float] = since_boot) -> None:
        self._keys = keys
        self._turn = turn
        self._clock = clock

    async def secret(self) -> bytes:
        return secret_of(await asyncio.to_thread(level_key, self._keys))

    async def join(self, member: Member) -> None:
        def work(db: sqlite3.Connection) -> None:
            now = self._clock()
            with unsynced(db):
                # Beyond what anyone can have said today: it was said before the machine was started anew.
                db.execute("DELETE FROM members WHERE until < ? OR until > ?", (now - KEPT, now + LIFE))
                db.execute("DELETE FROM owners WHERE member NOT IN (SELECT id FROM members)")
                values = (member.id, member.address, member.leaving, now + LIFE)
                db.execute("INSERT INTO members VALUES (?, ?, ?, ?)", values)

        await self._turn(work)

    async def renew(self, member: Member) -> tuple[Member, ...] | None:
        def work(db: sqlite3.Connection) -> tuple[Member, ...] | None:
            with unsynced(db):
                now = self._clock()
                if not _lives(db, member.id, now):
                    return None
                values = (member.leaving, now + LIFE, member.id)
                db.execute("UPDATE members SET leaving = ?, until = ? WHERE id = ?", values)
                query = "SELECT id, address, leaving FROM members WHERE until > ? AND until <= ?"
                found = db.execute(query, (now, now + LIFE)).fetchall()
            return tuple(Member(name, address, bool(leaving)) for name, address, leaving in found)

        return await self._turn(work)

    async def claim(self, principal: Principal, member: str, gone: str = "") -> str:
        ids = (principal.user_id, principal.session_id)

        def work(db: sqlite3.Connection) -> str:
            with unsynced(db):
                now = self._clock()
                if gone:
                    _remove(db, gone)
                found = db.execute("SELECT member FROM owners WHERE user_id = ? AND session_id = ?", ids).fetchone()
                owner = found[0] if found else ""
                if owner and owner != member and _lives(db, owner, now):
                    return owner
                if not _lives(db, member, now):
                    return ""
                db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", (*ids, member))
                return member

        return await self._turn(work)

    async def release(self, member: str, principals: Collection[Principal]) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                gone = [(each.user_id, each.session_id, member) for each in principals]
                db.executemany("DELETE FROM owners WHERE user_id = ? AND session_id = ? AND member = ?", gone)

        await self._turn(work)

    async def leave(self, member: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            with unsynced(db):
                _remove(db, member)

        await self._turn(work)


def _remove(db: sqlite3.Connection, member: str) -> None:
    db.execute("DELETE FROM members WHERE id = ?", (member,))
    db.execute("DELETE FROM owners WHERE member = ?", (member,))


def _lives(db: sqlite3.Connection, member: str, now: float) -> bool:
    found = db.execute("SELECT until FROM members WHERE id = ?", (member,)).fetchone()
    return found is not None and now < found[0] <= now + LIFE
