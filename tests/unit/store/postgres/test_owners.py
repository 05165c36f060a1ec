"""Owners in PostgreSQL: what the contract does not see."""

import asyncio
from pathlib import Path

import psycopg

from bascule.core.principal import Principal
from bascule.store.owners import Member
from bascule.store.postgres.store import PostgresStore
from support.postgres import execute
from support.waiting import fail_after, until

ALICE = Principal("alice", "s-1")


async def test_who_claims_waits_for_one_who_is_just_saying_that_it_lives(database: str, tmp_path: Path):
    """Its time is over for whoever looks now, and not once its word is kept."""
    store = PostgresStore(database, tmp_path)
    await store.open()
    for name in ("one", "two"):
        await store.owners.join(Member(name, ""))
    await store.owners.claim(ALICE, "one")
    execute(database, "UPDATE bascule.members SET until = clock_timestamp() WHERE id = 'one'")
    async with await psycopg.AsyncConnection.connect(database) as saying:
        later = b"UPDATE bascule.members SET until = clock_timestamp() + interval '1 minute' WHERE id = 'one'"
        await saying.execute(later)
        claiming = asyncio.ensure_future(store.owners.claim(ALICE, "two"))
        waits = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        await until(lambda: bool(execute(database, waits)))
        await saying.commit()
        async with fail_after(20, "a claim"):
            assert await claiming == "one"
    await store.close()


async def test_a_database_from_before_there_were_members_gets_their_tables(database: str, tmp_path: Path):
    store = PostgresStore(database, tmp_path)
    await store.open()
    await store.close()
    old = "ALTER TABLE bascule.about DROP store_id; UPDATE bascule.about SET version = 2"
    execute(database, f"DROP TABLE bascule.members, bascule.owners; {old}")
    store = PostgresStore(database, tmp_path)
    await store.open()
    await store.owners.join(Member("one", ""))
    assert await store.owners.claim(ALICE, "one") == "one"
    await store.close()
