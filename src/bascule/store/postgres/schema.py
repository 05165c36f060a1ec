"""PostgreSQL tables and their migrations; only a runtime of this version or newer, with the right key, may use them."""

import asyncio
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bascule.core.errors import StoreError
from bascule.store.postgres import anchors, owners
from bascule.store.postgres.connection import Database, rows
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import LEVEL_KEY, level_key

LOCKS, SESSION_LOCKS = 0x62617363, 0x62617364
"""First halves of the names of our advisory locks: other programs may use the same database."""

MIGRATING, NUMBERING = 0, 1
"""Second halves, of the first kind. Of the other kind it is a hash of the agent session."""

_CHECKED = b"bascule: the key of levels"

_THERE = b"""
SELECT EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON c.relnamespace = n.oid
    WHERE n.nspname = 'bascule' AND c.relname = 'about')
"""

_SCHEMA = b"""
CREATE SCHEMA IF NOT EXISTS bascule;
CREATE TABLE bascule.about (
    sole boolean PRIMARY KEY DEFAULT true CHECK (sole), version integer NOT NULL, key_check bytea NOT NULL
);
CREATE TABLE bascule.listings (
    place bytea PRIMARY KEY, home text NOT NULL, sandbox text NOT NULL, server text NOT NULL,
    digest text NOT NULL, tools bytea NOT NULL
);
CREATE TABLE bascule.sessions (
    user_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, sealed bytea NOT NULL,
    PRIMARY KEY (user_id, session_id)
);
CREATE TABLE bascule.raises (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, sealed bytea NOT NULL
);
CREATE INDEX raises_of_session ON bascule.raises (user_id, session_id, number);
CREATE TABLE bascule.datasets (
    user_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, place bytea NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (user_id, session_id, place)
);
CREATE TABLE bascule.receipts (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, receipt bytea NOT NULL
);
CREATE INDEX receipts_of_session ON bascule.receipts (user_id, session_id, number);
CREATE TABLE bascule.runtimes (id text COLLATE "C" PRIMARY KEY, acked bigint NOT NULL, since double precision NOT NULL);
"""
"""Ids compare byte by byte. In the order of a language, an update of the system's tables of languages can make an index
miss rows that are there, and an agent session that is not found would begin anew. What may be of any length is found by
its hash, its `place`: an index takes no more than some 2,700 bytes."""

_IDENTITY = b"""
ALTER TABLE bascule.about ADD COLUMN store_id text NOT NULL
    DEFAULT left(encode(sha256((random()::text || clock_timestamp()::text)::bytea), 'hex'), 16);
DROP TABLE bascule.runtimes;
CREATE TABLE bascule.runtimes (id text COLLATE "C" PRIMARY KEY, sealed bytea NOT NULL);
"""
"""Adds the id of the store, and seals the rows of runtimes. A runtime of an older version fails at its next poll, and
loses its lease."""

_MIGRATIONS = (_SCHEMA, anchors.SCHEMA, owners.SCHEMA, _IDENTITY)
"""Each leads from the version that is its place to the next."""

SCHEMA_VERSION = len(_MIGRATIONS)


async def greet(db: Database, shown: str, keys: KeyFiles) -> bytes:
    """Make the tables, or see that they are ours to use; give the key for them. Done on each new connection, since by
    now another server may answer."""
    await _refuse_unfit(db, shown)
    version, check = await _about(db) or await _made(db, keys)
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the database {shown} was written by a newer Bascule",
            evidence=f"schema {version}, this version knows {SCHEMA_VERSION}",
            fix="update Bascule, or name another database as `store`",
        )
    key = await _fitting(check, shown, keys)
    if version < SCHEMA_VERSION:
        await _migrate(db)
    return key


async def _made(db: Database, keys: KeyFiles) -> tuple[int, bytes]:
    """The tables, made by us, or by one who was faster."""
    async with _alone(db):
        about = await _about(db)
        if about is None:
            about = (SCHEMA_VERSION, _check(await asyncio.to_thread(level_key, keys)))
            for step in _MIGRATIONS:
                await db.execute(step)
            await db.execute(b"INSERT INTO bascule.about (version, key_check) VALUES (%s, %s)", about)
    return about


async def _migrate(db: Database) -> None:
    async with _alone(db):
        about = await _about(db)
        assert about is not None  # it was there a moment ago
        for step in _MIGRATIONS[about[0] :]:
            await db.execute(step)
        await db.execute(b"UPDATE bascule.about SET version = greatest(version, %s)", (SCHEMA_VERSION,))


@asynccontextmanager
async def _alone(db: Database) -> AsyncGenerator[None]:
    """A transaction in which no other runtime makes or changes tables."""
    async with db.transaction():
        # Taken before anything is looked at: two runtimes may be the first ones at the same time.
        await db.execute(b"SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, MIGRATING))
        yield


async def _fitting(check: bytes, shown: str, keys: KeyFiles) -> bytes:
    # None is made here: with a key of its own, this machine would take every agent session for SECRET.
    there = await asyncio.to_thread(keys.read, LEVEL_KEY) is not None
    key = await asyncio.to_thread(level_key, keys) if there else b""
    if not there or not hmac.compare_digest(_check(key), check):
        raise StoreError(
            f"the levels in the database {shown} cannot be read with the key of this machine",
            evidence="the key here is another one" if there else "there is no key here",
            cause="another machine made the key when it used this database first",
            fix=f"copy keys/{LEVEL_KEY} from the state folder of a machine that uses this database, with mode 600",
        )
    return key


async def _about(db: Database) -> tuple[int, bytes] | None:
    # Not by to_regclass, which under our lock may still remember that there was none before it.
    ((there,),) = await rows(db, _THERE)
    if not there:
        return None
    found = await rows(db, b"SELECT version, key_check FROM bascule.about")
    return (int(found[0][0]), bytes(found[0][1])) if found else None


async def _refuse_unfit(db: Database, shown: str) -> None:
    ((fsync, encoding),) = await rows(db, b"SELECT current_setting('fsync'), current_setting('server_encoding')")
    if fsync != "on":
        raise StoreError(
            f"the server of the database {shown} keeps nothing through a power cut",
            evidence=f"fsync = {fsync}",
            fix="set `fsync = on` in postgresql.conf and restart the server",
        )
    if encoding != "UTF8":
        raise StoreError(
            f"the database {shown} cannot hold every name",
            evidence=f"its encoding is {encoding}",
            fix="make one with: CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8'",
        )


def _check(key: bytes) -> bytes:
    """What tells one key from another, and tells nothing of the key."""
    return hmac.digest(key, _CHECKED, "sha256")
