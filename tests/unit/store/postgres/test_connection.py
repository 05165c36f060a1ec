"""One connection to PostgreSQL: what it shows, how long it takes at most, and what happens when it breaks."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from typing import Any

import psycopg
import pytest

from bascule.core.errors import ConfigError, StoreError, UsageError
from bascule.store import deadline
from bascule.store.deadline import StoreWait
from bascule.store.postgres.connection import Database, PostgresAddress, PostgresConnection, rows
from support.postgres import PostgresServer, execute
from support.waiting import fail_after, until

COUNT = "SELECT count(*) FROM noted"


async def greet(db: Database) -> None:
    """Nobody to greet."""


@pytest.fixture
async def connection(database: str) -> AsyncGenerator[PostgresConnection]:
    execute(database, "CREATE TABLE noted (what text)")
    made = PostgresConnection(PostgresAddress(database), greet, durable=True)
    yield made
    await made.close()


async def note(db: Database) -> None:
    await db.execute(b"INSERT INTO public.noted VALUES ('x')")


async def setting(db: Database, name: str) -> Any:
    ((found,),) = await rows(db, b"SELECT current_setting(%s)", name)
    return found


def backends(database: str) -> list[int]:
    found = execute(
        database,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )
    return [pid for (pid,) in found]


def cut_off(database: str) -> None:
    """As an operator, a restart or a network does it."""
    for pid in backends(database):
        execute(database, "SELECT pg_terminate_backend(%s, 5000)", pid)


def test_an_address_shows_host_and_database_and_nothing_else():
    address = PostgresAddress("postgresql://alice:hunter2@db.test:5433/state?sslmode=require&sslpassword=hunter3")

    assert address.shown == "state on db.test"
    assert "alice" not in repr(address)
    assert "hunter" not in repr(address)


def test_what_is_no_address_is_told_without_repeating_it():
    with pytest.raises(ConfigError) as caught:
        PostgresAddress("postgresql://alice:hunter2@[db/state")

    assert "hunter2" not in f"{caught.value} {caught.value.fix} {caught.value.__cause__} {caught.value.evidence}"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("words", ["for hunter2 at", "FATAL: hunter2"])
def test_a_password_in_the_words_of_an_error_is_masked(words: str):
    told = PostgresAddress("postgresql://a:hunter2@db/x").unusable(psycopg.OperationalError(f"{words}\nmore"))

    assert "hunter2" not in told.evidence
    assert "[secret]" in told.evidence
    assert "more" not in told.evidence


async def test_nobody_there_is_an_error_that_says_where_and_what_to_do():
    made = PostgresConnection(PostgresAddress("postgresql://a:hunter2@127.0.0.1:1/state"), greet, durable=True)
    with pytest.raises(StoreError, match=r"state on 127\.0\.0\.1") as caught:
        await made.open()

    assert "refused" in caught.value.evidence
    assert "hunter2" not in f"{caught.value} {caught.value.evidence} {caught.value.fix}"
    assert caught.value.fix


async def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(deadline, "LONGEST", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"postgresql://a@127.0.0.1:{mute.getsockname()[1]}/x"
        made = PostgresConnection(PostgresAddress(address), greet, durable=True)
        async with fail_after(30, "giving up"):
            with pytest.raises(StoreError) as caught:
                await made.open()
    assert "no answer" in caught.value.evidence


async def test_a_durable_change_waits_for_the_disk_whatever_the_server_is_set_to(database: str):
    assert execute(database, "SHOW synchronous_commit") == [("off",)]
    for durable, wanted in ((True, "on"), (False, "off")):
        made = PostgresConnection(PostgresAddress(database), greet, durable=durable)
        assert await made.change(lambda db: setting(db, "synchronous_commit")) == wanted
        assert await made.ask(lambda db: setting(db, "synchronous_commit")) == wanted
        await made.close()


async def test_what_a_change_reads_is_the_truth_of_now_and_what_a_look_reads_is_one_state(
    connection: PostgresConnection, database: str
):
    async def counted_twice(db: Database) -> list[int]:
        ((before,),) = await rows(db, b"SELECT count(*) FROM public.noted")
        execute(database, "INSERT INTO noted VALUES ('by another')")
        ((after,),) = await rows(db, b"SELECT count(*) FROM public.noted")
        return [before, after]

    execute(database, f"ALTER DATABASE {database.rpartition('/')[2]} SET default_transaction_isolation = serializable")
    assert await connection.change(counted_twice) == [0, 1]
    assert await connection.look(counted_twice) == [1, 1]


async def test_a_look_changes_nothing(connection: PostgresConnection, database: str):
    with pytest.raises(StoreError, match="cannot be used") as caught:
        await connection.look(note)

    assert "read-only" in caught.value.evidence
    assert execute(database, COUNT) == [(0,)]


async def test_a_change_that_fails_leaves_nothing_and_the_next_one_works(connection: PostgresConnection, database: str):
    async def refuse(db: Database) -> None:
        await note(db)
        raise UsageError("not this one")

    async def break_off(db: Database) -> None:
        await note(db)
        await db.execute(b"SELECT 1 / 0")

    with pytest.raises(UsageError):
        await connection.change(refuse)
    with pytest.raises(StoreError):
        await connection.change(break_off)
    await connection.change(note)

    assert execute(database, COUNT) == [(1,)]


async def test_an_error_that_was_hidden_is_not_taken_for_a_commit(connection: PostgresConnection, database: str):
    async def hide(db: Database) -> None:
        await note(db)
        with pytest.raises(psycopg.Error):
            await db.execute(b"SELECT 1 / 0")

    with pytest.raises(StoreError) as caught:
        await connection.change(hide)
    assert "ROLLBACK" in caught.value.evidence


async def test_a_connection_that_broke_is_made_anew_and_the_work_done_once(
    connection: PostgresConnection, database: str
):
    await connection.change(note)
    cut_off(database)
    await connection.change(note)
    cut_off(database)
    assert await connection.ask(lambda db: rows(db, b"SELECT count(*) FROM public.noted")) == [(2,)]


async def test_a_connection_that_breaks_before_the_commit_lets_the_change_be_made_again(
    connection: PostgresConnection, database: str
):
    tries: list[int] = []

    async def cut_off_once(db: Database) -> None:
        tries.append(db.info.backend_pid)
        await note(db)
        if len(tries) == 1:
            cut_off(database)

    # The cut is noticed at the COMMIT, or before it: only what is asked tells.
    async def cut_off_and_look(db: Database) -> None:
        await cut_off_once(db)
        await db.execute(b"SELECT 1")

    await connection.change(cut_off_and_look)
    assert len(set(tries)) == 2
    assert execute(database, COUNT) == [(1,)]


async def test_a_connection_that_breaks_at_the_commit_is_an_error_since_nobody_knows(
    connection: PostgresConnection, database: str
):
    tries: list[int] = []

    async def cut_off_last(db: Database) -> None:
        tries.append(db.info.backend_pid)
        await note(db)
        cut_off(database)

    with pytest.raises(StoreError):
        await connection.change(cut_off_last)
    assert len(tries) == 1


async def test_a_look_is_repeated_whenever_it_broke(connection: PostgresConnection, database: str):
    tries: list[int] = []

    async def cut_off_first(db: Database) -> int:
        tries.append(db.info.backend_pid)
        if len(tries) == 1:
            cut_off(database)
        return len(tries)

    assert await connection.look(cut_off_first) == 2


async def test_a_server_that_was_restarted_is_found_again(
    connection: PostgresConnection, database: str, postgres: PostgresServer
):
    await connection.change(note)
    for mode in ("fast", "immediate"):
        postgres.restart(mode)
        await connection.change(note)

    assert execute(database, COUNT) == [(3,)]


async def test_whoever_gives_up_leaves_the_work_to_be_finished(connection: PostgresConnection, database: str):
    begun = asyncio.Event()

    async def slow(db: Database) -> None:
        begun.set()
        await db.execute(b"SELECT pg_sleep(0.3)")
        await note(db)

    task = asyncio.ensure_future(connection.change(slow))
    await begun.wait()
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    await until(lambda: execute(database, COUNT) == [(1,)])


async def test_closing_waits_for_what_is_under_way(connection: PostgresConnection, database: str):
    async def slow(db: Database) -> None:
        await db.execute(b"SELECT pg_sleep(0.3)")
        await note(db)

    task = asyncio.ensure_future(connection.change(slow))
    await asyncio.sleep(0)
    await connection.close()

    assert execute(database, COUNT) == [(1,)]
    await task
    # Its process at the server ends after the connection.
    await until(lambda: backends(database) == [])


async def test_one_that_is_frozen_in_a_change_gives_its_locks_up(connection: PostgresConnection, database: str):
    """What the server is told of us: less than others wait for a lock."""

    async def limits(db: Database) -> list[str]:
        return [await setting(db, name) for name in ("idle_in_transaction_session_timeout", "lock_timeout")]

    assert await connection.change(limits) == ["5s", "10s"]


async def test_work_waits_its_turn(connection: PostgresConnection, database: str):
    under_way: list[int] = []

    async def alone(db: Database) -> None:
        under_way.append(1)
        assert len(under_way) == 1
        await db.execute(b"SELECT pg_sleep(0.01)")
        under_way.pop()

    await asyncio.gather(*(connection.change(alone) for _ in range(10)))
    assert len(backends(database)) == 1


async def test_what_breaks_when_the_time_is_over_is_not_tried_again(
    connection: PostgresConnection, monkeypatch: pytest.MonkeyPatch
):
    """psycopg waits for the server to take back what it does; if the connection breaks then, that is what it tells."""
    monkeypatch.setattr(deadline, "LONGEST", 0.5)
    await connection.open()
    tries: list[int] = []

    async def breaks(db: Database) -> None:
        tries.append(1)
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await db.close()
            raise psycopg.OperationalError("the connection is lost") from None

    async with fail_after(20, "giving up"):
        with pytest.raises(StoreError):
            await connection.ask(breaks)
    assert len(tries) == 1


async def test_an_operation_on_a_paused_server_ends_at_its_deadline_and_works_after_the_pause(
    connection: PostgresConnection, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
):
    """psycopg would send a request to cancel first and wait 5 s for its answer, then 5 s for that of the operation."""
    requests: list[float] = []

    async def counted(self: Database, *, timeout: float = 30.0) -> None:
        requests.append(timeout)
        await cancel_safe(self, timeout=timeout)

    cancel_safe = psycopg.AsyncConnection.cancel_safe
    monkeypatch.setattr(psycopg.AsyncConnection, "cancel_safe", counted)
    await connection.change(note)
    with monkeypatch.context() as short, postgres.paused():
        short.setattr(deadline, "LONGEST", 0.3)
        async with fail_after(4, "the deadlines"):
            for _ in range(2):
                with pytest.raises(StoreError) as caught:
                    await connection.change(note)
                assert "no answer" in caught.value.evidence

    assert requests == []
    await connection.change(note)


async def test_an_operation_of_a_wait_that_is_over_sends_nothing(connection: PostgresConnection, database: str):
    await connection.change(note)
    before = backends(database)
    wait = StoreWait()
    wait.left = 0.0
    with wait.shared(), pytest.raises(StoreError) as caught:
        await connection.change(note)

    assert "no answer" in caught.value.evidence
    assert execute(database, COUNT) == [(1,)]
    assert backends(database) == before


async def test_the_deadline_of_an_operation_is_what_earlier_ones_of_its_wait_have_left(
    connection: PostgresConnection, monkeypatch: pytest.MonkeyPatch
):
    now = [100.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: now[0])

    async def slow(db: Database) -> None:
        now[0] += 9.0

    wait = StoreWait()
    with wait.shared():
        await connection.ask(slow)
        assert wait.left == deadline.LONGEST - 9
        await connection.look(slow)
        with pytest.raises(StoreError):
            await connection.change(note)

    await connection.change(note)
