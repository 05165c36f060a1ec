"""The tables in PostgreSQL: made once, by whoever is first, and used only by who can read them."""

import asyncio
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.postgres.connection import PostgresAddress
from bascule.store.postgres.schema import LOCKS, MIGRATING, SCHEMA_VERSION, greet
from bascule.store.secrets.key_files import KeyFiles
from support.postgres import PostgresServer, execute
from support.waiting import until


async def greeted(database: str, folder: Path) -> bytes:
    address = PostgresAddress(database)
    db = await address.connect()
    try:
        return await greet(db, address.shown, KeyFiles(folder / "keys"))
    finally:
        await db.close()


async def test_the_first_one_makes_the_tables_and_the_key(database: str, tmp_path: Path):
    key = await greeted(database, tmp_path)

    assert (tmp_path / "keys" / "levels.key").read_bytes() == key
    assert execute(database, "SELECT version FROM bascule.about") == [(SCHEMA_VERSION,)]
    assert await greeted(database, tmp_path) == key


@pytest.mark.long
async def test_many_who_are_first_at_the_same_time_all_come_in(postgres: PostgresServer, tmp_path: Path):
    for _ in range(5):
        database = postgres.database()
        keys = await asyncio.gather(*(greeted(database, tmp_path) for _ in range(10)))
        postgres.take_back(database)

        assert len(set(keys)) == 1


async def test_who_comes_second_believes_what_is_there_and_not_what_was_not(database: str, tmp_path: Path):
    """The one that waits has looked for the tables before, in vain, and a server remembers such things."""
    address = PostgresAddress(database)
    first, second = await address.connect(), await address.connect()
    try:
        async with first.transaction():
            await first.execute(b"SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, MIGRATING))
            waiting = asyncio.ensure_future(greet(second, "x", KeyFiles(tmp_path / "keys")))
            waits = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            await until(lambda: bool(execute(database, waits)))
            key = await greet(first, "x", KeyFiles(tmp_path / "keys"))
        assert await waiting == key
    finally:
        await first.close()
        await second.close()


@pytest.mark.parametrize(("held", "evidence"), [(None, "no key here"), (b"x" * 32, "another one")])
async def test_a_machine_without_the_key_is_told_where_to_get_it(
    database: str, tmp_path: Path, held: bytes | None, evidence: str
):
    await greeted(database, tmp_path / "one")
    other = tmp_path / "other"
    if held is not None:
        KeyFiles(other / "keys").write("levels.key", held)
    with pytest.raises(StoreError, match="cannot be read with the key of this machine") as caught:
        await greeted(database, other)

    assert evidence in caught.value.evidence
    assert "copy keys/levels.key" in caught.value.fix
    # And none was made, which somebody might take for the right one.
    assert (other / "keys" / "levels.key").exists() == (held is not None)


async def test_a_key_that_was_copied_is_enough(database: str, tmp_path: Path):
    key = await greeted(database, tmp_path / "one")
    KeyFiles(tmp_path / "other" / "keys").write("levels.key", key)

    assert await greeted(database, tmp_path / "other") == key


async def test_the_key_is_not_in_the_database(database: str, tmp_path: Path):
    key = await greeted(database, tmp_path)
    ((check,),) = execute(database, "SELECT key_check FROM bascule.about")

    assert len(check) == 32
    assert key not in (check, check[::-1])


async def test_a_database_of_a_newer_version_is_refused(database: str, tmp_path: Path):
    await greeted(database, tmp_path)
    execute(database, "UPDATE bascule.about SET version = 99")
    with pytest.raises(StoreError, match="newer Bascule"):
        await greeted(database, tmp_path)


async def test_a_database_that_cannot_hold_every_name_is_refused(postgres: PostgresServer, tmp_path: Path):
    postgres.run("postgres", "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(StoreError, match="every name") as caught:
        await greeted(postgres.address("latin"), tmp_path)

    assert "LATIN1" in caught.value.evidence


@pytest.mark.long
async def test_a_server_that_does_not_sync_is_refused(postgres: PostgresServer, database: str, tmp_path: Path):
    postgres.run("postgres", "ALTER SYSTEM SET fsync = off")
    try:
        postgres.restart()
        with pytest.raises(StoreError, match="power cut"):
            await greeted(database, tmp_path)
    finally:
        postgres.run("postgres", "ALTER SYSTEM RESET fsync")
        postgres.restart()
    await greeted(database, tmp_path)


async def test_tables_that_lost_their_mark_are_not_made_anew(database: str, tmp_path: Path):
    await greeted(database, tmp_path)
    execute(database, "DELETE FROM bascule.about")
    with pytest.raises(Exception, match="already exists"):
        await greeted(database, tmp_path)
