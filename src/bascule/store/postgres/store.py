"""Store in PostgreSQL, for several runtimes on several machines."""

import asyncio
from hashlib import sha256
from pathlib import Path

import msgspec

from bascule.store.interface import KeptListing, ListingKey
from bascule.store.postgres.anchors import PostgresAnchors
from bascule.store.postgres.connection import Database, PostgresAddress, PostgresConnection, rows
from bascule.store.postgres.levels import PostgresLevels
from bascule.store.postgres.notify import PostgresBell
from bascule.store.postgres.owners import PostgresOwners
from bascule.store.postgres.schema import greet
from bascule.store.secrets.key_files import FOLDER, KeyFiles

_TOOLS = msgspec.json.Decoder(dict[str, str])


class PostgresStore:
    """One database, and three connections to it: for changes, for looking, and one that listens."""

    def __init__(self, url: str, state_folder: Path) -> None:
        self._address = PostgresAddress(url)
        self._keys = KeyFiles(state_folder / FOLDER)
        self._changes = PostgresConnection(self._address, self._greet, durable=True)
        self._looks = PostgresConnection(self._address, self._greet, durable=False)
        self.levels = PostgresLevels(self._changes, self._looks, PostgresBell(self._address))
        self.anchors = PostgresAnchors(self._changes, self._looks)
        self.owners = PostgresOwners(self._changes, self._looks, lambda: self.levels.key)

    async def open(self) -> None:
        await self._changes.open()

    async def listing(self, key: ListingKey) -> KeptListing | None:
        return await self._looks.ask(lambda db: _read_listing(db, key))

    async def keep_listing(self, key: ListingKey, listing: KeptListing) -> None:
        await self._changes.ask(lambda db: _write_listing(db, key, listing))

    async def close(self) -> None:
        await self.levels.close()
        await asyncio.gather(self._changes.close(), self._looks.close())

    async def _greet(self, db: Database) -> None:
        self.levels.key = await greet(db, self._address.shown, self._keys)


async def _read_listing(db: Database, key: ListingKey) -> KeptListing | None:
    found = await rows(db, b"SELECT digest, tools FROM bascule.listings WHERE place = %s", _place(key))
    return KeptListing(found[0][0], _TOOLS.decode(found[0][1])) if found else None


async def _write_listing(db: Database, key: ListingKey, listing: KeptListing) -> None:
    # Names of tools are a server's own, and may hold what a text in PostgreSQL cannot.
    tools = msgspec.json.encode(dict(listing.tools))
    await db.execute(
        b"INSERT INTO bascule.listings VALUES (%s, %s, %s, %s, %s, %s)"
        b" ON CONFLICT (place) DO UPDATE SET digest = EXCLUDED.digest, tools = EXCLUDED.tools",
        (_place(key), key.home, key.sandbox, key.server, listing.digest, tools),
    )


def _place(key: ListingKey) -> bytes:
    return sha256(msgspec.json.encode((key.home, key.sandbox, key.server))).digest()
