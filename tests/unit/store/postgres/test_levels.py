"""Levels in PostgreSQL: what is left of them when the database is damaged or its server dies, and in which order changes
are heard of. What every engine does is in the contracts."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.evidence import BAD_RECEIPT, BROKEN_CHAIN
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.levels.position import Position
from support.level_stores import Place, place_at
from support.postgres import PostgresServer, execute
from support.waiting import fail_after, until

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
LABEL = Cause("label", "notes", "read")

SLOW = """
CREATE FUNCTION public.dawdle() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.user_id = 'alice' THEN PERFORM pg_sleep(0.7); END IF; RETURN NULL; END $$;
CREATE TRIGGER dawdle AFTER INSERT ON bascule.receipts FOR EACH ROW EXECUTE FUNCTION public.dawdle()
"""
"""A change of Alice's has its number for a while before it is committed."""

DAWDLES = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


@pytest.fixture
async def place(database: str, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(database, tmp_path) as made:
        yield made


@pytest.fixture
async def levels(place: Place) -> LevelStore:
    return await place.open()


async def raised(levels: LevelStore, principal: Principal = ALICE, level: DataSensitivity = CONFIDENTIAL) -> Position:
    _, receipt = await levels.raise_level(principal, level, LABEL, 11.0)
    assert receipt is not None
    return await levels.position(receipt.number)


OF_0_1_0 = """
UPDATE bascule.raises SET sealed = (SELECT sealed FROM bascule.sessions WHERE user_id = 'alice')
WHERE number = (SELECT max(number) FROM bascule.raises)
"""

LESS = (
    "SET sealed = overlay(sealed placing '0'::bytea from position(',2,'::bytea in sealed) + 1) WHERE user_id = 'alice'"
)
"""The level, where it stands in the open: from CONFIDENTIAL to PUBLIC."""

OLDER_ROW = "UPDATE bascule.sessions SET sealed = (SELECT sealed FROM public.older) WHERE user_id = 'alice'"
LAST_LINE_LOST = (
    "DELETE FROM bascule.raises WHERE number = (SELECT max(number) FROM bascule.raises WHERE user_id = 'alice')"
)
OLD_LINE_ADDED = (
    "INSERT INTO bascule.raises (user_id, session_id, sealed) SELECT user_id, session_id, sealed FROM bascule.raises"
    " WHERE user_id = 'alice' ORDER BY number LIMIT 1"
)

DAMAGES = {
    "a row says less": f"UPDATE bascule.sessions {LESS}",
    "the last line says less": f"UPDATE bascule.raises {LESS} AND position(',2,'::bytea in sealed) > 0",
    "both witnesses say less": f"UPDATE bascule.sessions {LESS}; UPDATE bascule.raises {LESS}"
    " AND position(',2,'::bytea in sealed) > 0",
    "a row is gone": "DELETE FROM bascule.sessions WHERE user_id = 'alice'",
    "a row is an older one": OLDER_ROW,
    "a row is a line": "UPDATE bascule.sessions SET sealed = (SELECT sealed FROM bascule.raises WHERE"
    " user_id = 'alice' ORDER BY number DESC LIMIT 1) WHERE user_id = 'alice'",
    "a row is another's": "UPDATE bascule.sessions SET sealed = (SELECT sealed FROM bascule.sessions WHERE"
    " user_id = 'bob') WHERE user_id = 'alice'",
    "a row has no MAC": "UPDATE bascule.sessions SET sealed = substr(sealed, 66)",
    "a row has another MAC": "UPDATE bascule.sessions SET sealed = overlay(sealed placing '0000'::bytea from 1)",
    "a row is empty": "UPDATE bascule.sessions SET sealed = ''",
    "a row belongs to another": "UPDATE bascule.sessions SET user_id = 'mallory' WHERE user_id = 'alice'",
    "the last line is gone": LAST_LINE_LOST,
    "a line has another MAC": "UPDATE bascule.raises SET sealed = overlay(sealed placing '0000'::bytea from 1)",
    "an old line was added again": OLD_LINE_ADDED,
    "all lines are gone": "TRUNCATE bascule.raises",
    "all rows are gone": "TRUNCATE bascule.sessions",
    "both witnesses are gone": "TRUNCATE bascule.sessions, bascule.raises",
    "both witnesses and all datasets are gone": "TRUNCATE bascule.sessions, bascule.raises, bascule.datasets",
    "the last line is gone, and the row is an older one": f"{LAST_LINE_LOST}; {OLDER_ROW}",
    "an old line was added again, and the row is an older one": f"{OLD_LINE_ADDED}; {OLDER_ROW}",
    "the last line and the row are gone": f"{LAST_LINE_LOST}; DELETE FROM bascule.sessions",
    "the first line is gone": "DELETE FROM bascule.raises WHERE number = (SELECT min(number) FROM bascule.raises)",
    "a row was added as a line": "INSERT INTO bascule.raises (user_id, session_id, sealed) SELECT user_id,"
    " session_id, sealed FROM bascule.sessions WHERE user_id = 'alice'",
    "a line is another's": "UPDATE bascule.raises SET user_id = 'alice' WHERE user_id = 'bob'",
    "lines are in another order": "UPDATE bascule.raises SET number = DEFAULT WHERE number = (SELECT min(number)"
    " FROM bascule.raises)",
    "a receipt cannot be read": "UPDATE bascule.receipts SET receipt = 'nonsense'",
    "a receipt is nested without end": "UPDATE bascule.receipts SET receipt = convert_to("
    """'{"number":0,"x":' || repeat('[', 100000), 'UTF8')""",
    "a receipt is another's": "UPDATE bascule.receipts SET receipt ="
    " replace(encode(receipt, 'escape'), 'alice', 'bob')::bytea",
    "a receipt has a later epoch": """UPDATE bascule.receipts SET receipt =
    replace(encode(receipt, 'escape'), '"epoch":1', '"epoch":9223372036854775807')::bytea""",
    "a dataset has another MAC": "UPDATE bascule.datasets SET sealed = overlay(sealed placing '0000'::bytea from 1)",
    "a dataset stands twice": "INSERT INTO bascule.datasets SELECT user_id, session_id, 'x', sealed FROM bascule.datasets",
}

TABLES = ("sessions", "raises", "datasets", "receipts")


@pytest.mark.parametrize("damage", DAMAGES)
async def test_no_damage_lowers_a_level_or_makes_it_absent(
    damage: str, levels: LevelStore, place: Place, database: str
):
    await levels.begin(ALICE, 10.0)
    execute(database, "CREATE TABLE public.older AS SELECT sealed FROM bascule.sessions")
    await levels.raise_level(ALICE, CONFIDENTIAL, Cause("dataset", dataset="payroll"), 11.0)
    await levels.begin(BOB, 12.0)
    before = [execute(database, f"SELECT * FROM bascule.{table}") for table in TABLES]
    execute(database, DAMAGES[damage])
    assert before != [execute(database, f"SELECT * FROM bascule.{table}") for table in TABLES]

    other = await place.open()
    true = (CONFIDENTIAL, "")
    for store in (levels, other):
        listed = {record.principal: record for record in await store.sessions()}
        polled = {record.principal: record for record in (await store.poll("x", Position())).changed}
        found = [listed[ALICE], polled[ALICE], await store.begin(ALICE, 20.0)]
        for record in found:
            assert (record.level, record.doubt) == true or (record.level is SECRET and record.doubt), record
    # A raise does not make it less either, and only an operator takes a doubt away.
    record, _ = await levels.raise_level(ALICE, INTERNAL, LABEL, 21.0)
    assert record.level >= CONFIDENTIAL
    await levels.lower_level(ALICE, PUBLIC, Cause("operator"), 22.0)
    assert (await other.begin(ALICE, 23.0)).level is PUBLIC
    assert (await other.begin(ALICE, 23.0)).doubt == ""


async def test_tables_that_are_gone_are_an_error_and_nobody_is_public(levels: LevelStore, database: str):
    await raised(levels)
    execute(database, "DROP TABLE bascule.sessions")
    for asked in (levels.begin(ALICE, 1.0), levels.sessions(), levels.raise_level(ALICE, SECRET, LABEL, 1.0)):
        with pytest.raises(StoreError):
            await asked


async def test_ids_that_nobody_can_have_are_nobodys(levels: LevelStore, database: str):
    await raised(levels)
    execute(database, "INSERT INTO bascule.sessions VALUES ('', '', 'x'), (repeat('x', 300), 's', 'x')")

    assert [record.principal for record in await levels.sessions()] == [ALICE]


@pytest.mark.parametrize(
    "receipt", ["nonsense", '{"number":0,"change":"raise","principal":{"user_id":"","session_id":""}}']
)
async def test_a_receipt_that_cannot_be_read_is_an_error(levels: LevelStore, database: str, receipt: str):
    number = (await raised(levels)).number
    execute(database, "UPDATE bascule.receipts SET receipt = convert_to(%s, 'UTF8')", receipt)
    with pytest.raises(StoreError):
        await levels.receipts()
    with pytest.raises(StoreError):
        await levels.complete_receipt(number, (), {}, "")


@pytest.mark.long
async def test_what_has_returned_survives_the_crash_of_the_server(
    levels: LevelStore, place: Place, postgres: PostgresServer
):
    for round_ in range(2):
        principal = Principal("alice", f"s-{round_}")
        begun = Principal("bob", f"s-{round_}")
        position = await raised(levels, principal)
        await levels.begin(begun, 10.0)
        await levels.register(f"runtime-{round_}", 10.0)
        postgres.restart("immediate")
        # Over the connections it had, and over new ones.
        for store in (levels, await place.open()):
            records = {record.principal: record.level for record in await store.sessions()}
            assert (records[principal], records[begun]) == (CONFIDENTIAL, PUBLIC)
            assert (await store.poll(f"runtime-{round_}", position)).registered
        record, _ = await levels.raise_level(principal, SECRET, LABEL, 12.0)
        assert record == SessionRecord(principal, SECRET, 2, since=11.0)


@pytest.mark.long
async def test_a_server_that_was_restarted_is_the_same_and_a_promoted_replica_is_another_one(
    levels: LevelStore, postgres: PostgresServer, database: str, tmp_path: Path
):
    position = await raised(levels)
    await levels.register("one", 10.0)
    replica = postgres.replica()
    with replica.guarded():
        postgres.restart("immediate")
        assert await levels.position() == position
        assert (await levels.poll("one", position)).registered
        written = postgres.written()
        await until(lambda: replica.has_replayed(written))
        replica.promote()
        name = database.rpartition("/")[2]
        async with place_at(replica.address(name), tmp_path) as other:
            there = await other.open()
            found = await there.position()
            poll = await there.poll("one", position)

    assert (found.number, found.fingerprint) == (position.number, position.fingerprint)
    assert found.origin.split("/")[:2] == position.origin.split("/")[:2]
    assert found.origin != position.origin
    assert (poll.registered, [each.principal for each in poll.changed]) == (False, [ALICE])


@pytest.mark.long
async def test_who_looks_after_a_number_misses_no_change_that_is_committed_late(
    levels: LevelStore, place: Place, database: str
):
    other, watcher = await place.open(), await place.open()
    execute(database, SLOW)
    after = await watcher.register("watcher", 10.0)
    slow = asyncio.ensure_future(raised(levels, ALICE))
    await until(lambda: bool(execute(database, DAWDLES)))
    quick = asyncio.ensure_future(raised(other, BOB))
    heard: list[Principal] = []
    async with fail_after(20, "hearing of both"):
        while len(heard) < 2:
            poll = await watcher.poll("watcher", after)
            heard += [record.principal for record in poll.changed]
            after = poll.position
    assert heard == [ALICE, BOB]
    assert (await slow).number < (await quick).number == after.number


async def test_who_registers_during_a_change_knows_of_it_or_is_waited_for(
    levels: LevelStore, place: Place, database: str
):
    other = await place.open()
    execute(database, SLOW)
    slow = asyncio.ensure_future(raised(levels, ALICE))
    await until(lambda: bool(execute(database, DAWDLES)))
    known = await other.register("late", 10.0)

    change = await slow
    assert known.number >= change.number or "late" in (await levels.laggards(change)).lagging


async def test_who_has_come_back_since_it_was_found_lagging_is_not_struck(levels: LevelStore, place: Place):
    other = await place.open()
    for runtime in ("acknowledges", "registers", "dead"):
        await other.register(runtime, 10.0)
    position = await raised(levels)
    assert (await levels.laggards(position)).lagging == {"acknowledges", "registers", "dead"}
    await other.acknowledge("acknowledges", position)
    await other.register("registers", 11.0)
    await levels.strike(("acknowledges", "registers", "dead"), position)

    registered = {name: (await other.poll(name, position)).registered for name in ("acknowledges", "registers", "dead")}
    assert registered == {"acknowledges": True, "registers": True, "dead": False}


async def test_a_raise_at_one_store_is_seen_by_another_that_it_wakes_up(levels: LevelStore, place: Place):
    other = await place.open()
    begun = await other.register("other", 10.0)
    woken = asyncio.ensure_future(other.rung())
    await raised(levels)
    levels.ring()
    async with fail_after(20, "waking up"):
        await woken
    (record,) = (await other.poll("other", begun)).changed
    assert (record.principal, record.level) == (ALICE, CONFIDENTIAL)


async def test_ringing_at_a_server_that_is_away_is_lost_and_nothing_else(levels: LevelStore, postgres: PostgresServer):
    await raised(levels)
    postgres.stop()
    try:
        levels.ring()
        levels.ring()
        await asyncio.sleep(0.1)
    finally:
        postgres.start()
    assert (await levels.begin(ALICE, 12.0)).level is CONFIDENTIAL


LONG = "x" * 5000


@pytest.mark.parametrize("dataset", ["a\0b", "'; DROP SCHEMA bascule CASCADE; --", "日本", "%s", LONG], ids=range(5))
async def test_a_dataset_may_have_any_name(levels: LevelStore, dataset: str):
    cause = Cause("dataset", dataset=dataset, reason="a\0reason")
    await levels.raise_level(ALICE, SECRET, cause, 11.0)

    assert (await levels.begin(ALICE, 12.0)).datasets == {dataset: SECRET}
    (receipt,) = await levels.receipts(ALICE)
    assert receipt.cause == cause


async def test_a_name_that_cannot_be_written_is_an_error_and_changes_nothing(levels: LevelStore):
    with pytest.raises(StoreError):
        await levels.raise_level(ALICE, SECRET, Cause("dataset", dataset="\ud800"), 11.0)
    assert await levels.sessions() == ()


async def test_what_has_begun_is_in_both_witnesses(levels: LevelStore, database: str):
    await levels.begin(ALICE, 10.0)
    ((row,),) = execute(database, "SELECT sealed FROM bascule.sessions")
    ((line,),) = execute(database, "SELECT sealed FROM bascule.raises")
    assert row.partition(b" ")[2] in line


async def test_a_gap_in_the_lines_of_one_agent_session_is_no_doubt_of_another(levels: LevelStore, database: str):
    for level in (INTERNAL, CONFIDENTIAL, SECRET):
        for principal in (ALICE, BOB):
            await raised(levels, principal, level)
    execute(database, "DELETE FROM bascule.raises WHERE number = 3")

    assert (await levels.begin(ALICE, 12.0)).doubt == BROKEN_CHAIN
    assert await levels.begin(BOB, 12.0) == SessionRecord(BOB, SECRET, 3, since=11.0)


async def test_a_receipt_of_another_is_unreadable(levels: LevelStore, database: str):
    await raised(levels)
    execute(database, DAMAGES["a receipt is another's"])

    assert (await levels.begin(ALICE, 12.0)).doubt == BAD_RECEIPT


async def test_lines_are_read_in_the_order_of_their_numbers(levels: LevelStore, database: str):
    for level in (INTERNAL, CONFIDENTIAL, SECRET):
        await raised(levels, ALICE, level)
    # PostgreSQL moves a row that is updated to the end of its table.
    execute(database, "UPDATE bascule.raises SET sealed = sealed WHERE number = 1")

    assert await levels.sessions() == (SessionRecord(ALICE, SECRET, 3, since=11.0),)


async def test_the_first_chained_line_names_the_last_one_of_version_0_1_0(levels: LevelStore, database: str):
    """Version 0.1.0 wrote the bytes of the row as the line."""
    for level in (INTERNAL, CONFIDENTIAL):
        await raised(levels, ALICE, level)
        execute(database, OF_0_1_0)
    ((old,),) = execute(database, "SELECT sealed FROM bascule.sessions")
    await raised(levels, ALICE, SECRET)
    ((line,),) = execute(database, "SELECT sealed FROM bascule.raises ORDER BY number DESC LIMIT 1")

    assert old.partition(b" ")[0] in line
    assert await levels.begin(ALICE, 12.0) == SessionRecord(ALICE, SECRET, 3, since=11.0)
