"""Membership and ownership of agent sessions in PostgreSQL. Time is the server's: the machines' clocks need not
agree."""

from collections.abc import Callable, Collection
from hashlib import sha256

import msgspec

from bascule.core.principal import Principal
from bascule.store.owners import KEPT, LIFE, Member, secret_of
from bascule.store.postgres.connection import Database, PostgresConnection, rows

SCHEMA = b"""
CREATE TABLE IF NOT EXISTS bascule.members (
    id text COLLATE "C" PRIMARY KEY, address text NOT NULL, leaving boolean NOT NULL,
    until timestamp with time zone NOT NULL
);
CREATE TABLE IF NOT EXISTS bascule.owners (
    user_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, member text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, session_id)
);
CREATE INDEX IF NOT EXISTS owners_by_member ON bascule.owners (member);
"""

OWNER_LOCKS = 0x62617365
"""First half of the names of the advisory locks that order claims."""

_LATER = b"clock_timestamp() + interval '%d milliseconds'" % (LIFE * 1000)

_JOIN = b"INSERT INTO bascule.members VALUES (%%s, %%s, %%s, %b)" % _LATER
_RENEW = (
    b"UPDATE bascule.members SET leaving = %%s, until = %b WHERE id = %%s AND until > clock_timestamp() RETURNING id"
    % _LATER
)
_ALIVE = b"SELECT id, address, leaving FROM bascule.members WHERE until > clock_timestamp()"
_LIVES = b"SELECT until > clock_timestamp() FROM bascule.members WHERE id = %s FOR SHARE"
"""Waits for one who is just saying that it lives, and then sees that."""

_FORGET = b"DELETE FROM bascule.members WHERE until < clock_timestamp() - interval '%d seconds'" % KEPT
_DISOWN = b"DELETE FROM bascule.owners AS o WHERE NOT EXISTS (SELECT FROM bascule.members AS m WHERE m.id = o.member)"
_OWN = (
    b"INSERT INTO bascule.owners VALUES (%s, %s, %s)"
    b" ON CONFLICT (user_id, session_id) DO UPDATE SET member = EXCLUDED.member"
)


class PostgresOwners:
    """The members on one database. `key` gives the key of levels once the database was opened."""

    def __init__(self, changes: PostgresConnection, looks: PostgresConnection, key: Callable[[], bytes]) -> None:
        self._changes = changes
        self._looks = looks
        self._key = key

    async def secret(self) -> bytes:
        return secret_of(self._key())

    async def join(self, member: Member) -> None:
        async def work(db: Database) -> None:
            await db.execute(_FORGET)
            await db.execute(_DISOWN)
            await db.execute(_JOIN, (member.id, member.address, member.leaving))

        await self._changes.change(work)

    async def renew(self, member: Member) -> tuple[Member, ...] | None:
        async def work(db: Database) -> tuple[Member, ...] | None:
            if not await rows(db, _RENEW, member.leaving, member.id):
                return None
            return tuple(Member(*row) for row in await rows(db, _ALIVE))

        return await self._looks.ask(work)

    async def claim(self, principal: Principal, member: str, gone: str = "") -> str:
        ids = (principal.user_id, principal.session_id)

        async def work(db: Database) -> str:
            query = b"SELECT member FROM bascule.owners WHERE user_id = %s AND session_id = %s"
            found = await rows(db, query, *ids)
            owner = found[0][0] if found else ""
            if owner and owner not in {member, gone} and await _lives(db, owner):
                return owner
            if not await _lives(db, member):
                return ""
            if owner != member:
                await db.execute(_OWN, (*ids, member))
            return member

        if gone:
            await self.leave(gone)
        # Durable: two would own it if a server that crashed had forgotten the first.
        return await self._changes.change(work, first=_lock_of(ids))

    async def release(self, member: str, principals: Collection[Principal]) -> None:
        query = b"DELETE FROM bascule.owners WHERE user_id = %s AND session_id = %s AND member = %s"

        async def work(db: Database) -> None:
            for principal in principals:
                await db.execute(query, (principal.user_id, principal.session_id, member))

        await self._looks.change(work)

    async def leave(self, member: str) -> None:
        async def work(db: Database) -> None:
            await db.execute(b"DELETE FROM bascule.members WHERE id = %s", (member,))
            await db.execute(b"DELETE FROM bascule.owners WHERE member = %s", (member,))

        await self._looks.change(work)


async def _lives(db: Database, member: str) -> bool:
    found = await rows(db, _LIVES, member)
    return bool(found) and bool(found[0][0])


def _lock_of(ids: tuple[str, str]) -> bytes:
    name = int.from_bytes(sha256(msgspec.json.encode(ids)).digest()[:4], signed=True)
    return b"SELECT pg_advisory_xact_lock(%d, %d)" % (OWNER_LOCKS, name)
