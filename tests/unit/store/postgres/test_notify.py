"""The bell between runtimes on several machines."""

import asyncio
from collections.abc import AsyncGenerator

import psycopg
import pytest

from bascule.store.postgres import notify
from bascule.store.postgres.connection import PostgresAddress
from bascule.store.postgres.notify import PostgresBell
from support.postgres import PostgresServer, execute
from support.waiting import fail_after, until

LISTENERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'"
)


@pytest.fixture
async def bell(database: str) -> AsyncGenerator[PostgresBell]:
    made = PostgresBell(PostgresAddress(database))
    yield made
    await made.close()


async def ring(bell: PostgresBell, database: str) -> None:
    db = await PostgresAddress(database).connect()
    try:
        await bell.ring(db)
    finally:
        await db.close()


async def heard(bell: PostgresBell) -> None:
    async with fail_after(20, "hearing it"):
        await bell.rung()


async def test_a_ring_of_another_is_heard(bell: PostgresBell, database: str):
    await bell.listen()
    await ring(PostgresBell(PostgresAddress(database)), database)
    await heard(bell)


async def test_a_ring_of_ones_own_is_not(bell: PostgresBell, database: str):
    await bell.listen()
    await ring(bell, database)
    await ring(bell, database)
    waiting = asyncio.ensure_future(bell.rung())
    # Rings come in the order in which they were made: once that of another was heard, ours are long over.
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await ring(PostgresBell(PostgresAddress(database)), database)
    async with fail_after(20, "hearing it"):
        await waiting


async def test_who_waits_before_listening_is_told_to_look_as_soon_as_it_listens(bell: PostgresBell):
    await heard(bell)


async def test_a_connection_that_was_lost_is_made_anew_and_tells_to_look(bell: PostgresBell, database: str):
    await bell.listen()
    ((lost,),) = execute(database, LISTENERS)
    execute(database, "SELECT pg_terminate_backend(%s, 5000)", lost)
    await heard(bell)  # whatever was rung meanwhile

    ((made,),) = execute(database, LISTENERS)
    assert made != lost
    await ring(PostgresBell(PostgresAddress(database)), database)
    await heard(bell)


async def test_a_server_that_is_away_for_a_while_is_listened_to_again(
    bell: PostgresBell, database: str, postgres: PostgresServer
):
    await bell.listen()
    postgres.stop()
    await until(lambda: not bell._listening.is_set())
    postgres.start()
    await heard(bell)
    await ring(PostgresBell(PostgresAddress(database)), database)
    await heard(bell)


async def test_silence_makes_it_ask_whether_the_connection_lives(
    bell: PostgresBell, database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notify, "QUIET", 0.01)
    await bell.listen()
    asked = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT'"
    await until(lambda: bool(execute(database, asked)))
    await ring(PostgresBell(PostgresAddress(database)), database)
    await heard(bell)


async def test_with_no_server_there_it_listens_in_vain_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notify, "LONGEST_PAUSE", 0.3)
    nowhere = PostgresBell(PostgresAddress("postgresql://a@127.0.0.1:1/x"))
    async with fail_after(20, "going on without"):
        await nowhere.listen()
    await nowhere.close()


async def test_closing_ends_it_also_if_the_connection_breaks_in_that_moment(
    bell: PostgresBell, monkeypatch: pytest.MonkeyPatch
):
    """An error of the connection is then all that psycopg tells of being cancelled."""
    waits = asyncio.Event()

    async def breaks(db: object, longest: float) -> bool:
        waits.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise psycopg.OperationalError("the connection is lost") from None
        return False

    monkeypatch.setattr(notify, "_readable", breaks)
    await bell.listen()
    await waits.wait()
    async with fail_after(20, "closing"):
        await bell.close()


async def test_closing_ends_the_connection_and_can_be_done_twice(bell: PostgresBell, database: str):
    await bell.listen()
    await bell.close()
    await bell.close()
    await until(lambda: execute(database, LISTENERS) == [])
