"""Sensitivity levels and their witnesses in SQLite; the contracts test the behaviour that all engines share."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels import journal as journal_module
from bascule.store.levels.change import RECOVERED, Draft
from bascule.store.levels.evidence import (
    BAD_DATASET,
    BAD_RECEIPT,
    BAD_ROW,
    BROKEN_CHAIN,
    NO_JOURNAL,
    RECEIPT_AHEAD,
    STRAY_RECEIPT,
)
from bascule.store.levels.position import Position, position_after
from bascule.store.levels.signed_statement import UNREADABLE, DatasetStatement, Statement
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.sqlite import receipts
from bascule.store.sqlite.levels import WITNESSES, SqliteWitnesses
from bascule.store.sqlite.store import SqliteStore

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
LABEL, OPERATOR = Cause("label"), Cause("operator")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SqliteStore]:
    store = SqliteStore(tmp_path / "bascule.db")
    yield store
    await store.close()


async def cut_short(store: SqliteStore) -> None:
    """A raise of which only the line was written."""
    await store._do(
        lambda db: db.execute("CREATE TRIGGER no BEFORE INSERT ON receipts BEGIN SELECT raise(ABORT, 'x'); END")
    )
    with pytest.raises(StoreError):
        await store.levels.raise_level(ALICE, CONFIDENTIAL, LABEL, 2.0)
    await store._do(lambda db: db.execute("DROP TRIGGER no"))


def without_line(journal: Path, place: int) -> None:
    title, *lines = [line for line in journal.read_bytes().split(b"\n") if line]
    del lines[place]
    journal.write_bytes(b"\n".join((title, *lines, b"")))


async def damaged(store: SqliteStore, statement: str) -> None:
    await store._do(lambda db: db.execute(statement))


async def test_a_raise_that_was_cut_short_is_found_and_told(store: SqliteStore):
    await store.levels.begin(ALICE, 1.0)
    begun = await store.levels.register("one", 1.0)
    await cut_short(store)
    record = await store.levels.begin(ALICE, 3.0)

    assert (record.level, record.epoch, record.doubt) == (CONFIDENTIAL, 1, "")
    (receipt,) = await store.levels.receipts()
    assert (receipt.cause, receipt.before, receipt.after) == (RECOVERED, PUBLIC, CONFIDENTIAL)
    assert [each.level for each in (await store.levels.poll("one", begun)).changed] == [CONFIDENTIAL]
    assert await store.levels.begin(ALICE, 4.0) == record
    assert len(await store.levels.receipts()) == 1


async def test_whoever_raises_again_after_that_gets_the_receipt(store: SqliteStore):
    await store.levels.begin(ALICE, 1.0)
    await cut_short(store)
    record, receipt = await store.levels.raise_level(ALICE, CONFIDENTIAL, LABEL, 3.0)

    assert record.level is CONFIDENTIAL
    assert receipt is not None
    assert (await store.levels.laggards(position_after(receipt))).found


async def test_what_was_recovered_outlives_the_journal(store: SqliteStore, tmp_path: Path):
    await store.levels.begin(ALICE, 1.0)
    await cut_short(store)
    await store.levels.begin(ALICE, 3.0)
    (tmp_path / "bascule.db-raises").unlink()

    assert (await store.levels.begin(ALICE, 4.0)).doubt == NO_JOURNAL


async def test_a_doubt_goes_with_the_damage_unless_a_level_was_raised_in_it(store: SqliteStore, tmp_path: Path):
    journal, aside = tmp_path / "bascule.db-raises", tmp_path / "aside"
    for principal in (ALICE, BOB):
        await store.levels.begin(principal, 1.0)
    aside.write_bytes(journal.read_bytes())
    journal.unlink()
    assert (await store.levels.begin(ALICE, 2.0)).level is SECRET
    record, receipt = await store.levels.raise_level(BOB, INTERNAL, LABEL, 3.0)
    assert (record.level, record.doubt) == (SECRET, NO_JOURNAL)
    assert receipt is not None
    aside.replace(journal)

    assert (await store.levels.begin(ALICE, 4.0)).level is PUBLIC
    assert (await store.levels.begin(BOB, 4.0)).level is SECRET


@pytest.mark.parametrize(
    ("damage", "doubt"),
    [
        ("UPDATE sessions SET statement = x'00'", BAD_ROW),
        ("UPDATE datasets SET statement = x'00'", BAD_DATASET),
        ("UPDATE receipts SET epoch = 'later'", BAD_RECEIPT),
        ("UPDATE receipts SET epoch = 9223372036854775807", RECEIPT_AHEAD),
        ("DELETE FROM sessions", BROKEN_CHAIN),
    ],
)
async def test_an_operator_takes_doubt_away(store: SqliteStore, tmp_path: Path, damage: str, doubt: str):
    await store.levels.begin(ALICE, 1.0)
    await store.levels.raise_level(ALICE, INTERNAL, Cause("dataset", dataset="notes"), 1.0)
    await damaged(store, damage)
    if doubt is BROKEN_CHAIN:
        without_line(tmp_path / "bascule.db-raises", 0)
    assert (await store.levels.begin(ALICE, 2.0)).doubt == doubt
    record, receipt = await store.levels.lower_level(ALICE, INTERNAL, OPERATOR, 3.0)

    assert (record.level, record.doubt, receipt.before) == (INTERNAL, "", SECRET)
    assert await store.levels.begin(ALICE, 4.0) == record
    assert await store.levels.sessions() == (record,)
    record, _ = await store.levels.raise_level(ALICE, CONFIDENTIAL, LABEL, 5.0)
    assert (record.level, record.doubt) == (CONFIDENTIAL, "")


async def test_a_receipt_ahead_of_both_witnesses_makes_it_secret(store: SqliteStore, tmp_path: Path):
    journal = tmp_path / "bascule.db-raises"
    await store.levels.begin(ALICE, 1.0)
    older, (row,) = (
        journal.read_bytes(),
        await store._do(lambda db: db.execute("SELECT statement FROM sessions").fetchone()),
    )
    await store.levels.raise_level(ALICE, CONFIDENTIAL, LABEL, 2.0)
    journal.write_bytes(older)
    await store._do(lambda db: db.execute("UPDATE sessions SET statement = ?", (row,)))

    assert (await store.levels.begin(ALICE, 3.0)).doubt == RECEIPT_AHEAD
    assert [record.doubt for record in await store.levels.sessions()] == [RECEIPT_AHEAD]


async def test_a_gap_in_the_lines_of_one_agent_session_is_no_doubt_of_another(store: SqliteStore, tmp_path: Path):
    for level in (INTERNAL, CONFIDENTIAL, SECRET):
        for principal in (ALICE, BOB):
            await store.levels.raise_level(principal, level, LABEL, 1.0)
    without_line(tmp_path / "bascule.db-raises", 2)

    assert (await store.levels.begin(ALICE, 2.0)).doubt == BROKEN_CHAIN
    assert (await store.levels.begin(BOB, 2.0)).doubt == ""


async def test_a_new_database_beside_the_journal_knows_the_levels(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.levels.raise_level(ALICE, CONFIDENTIAL, LABEL, 1.0)
    await store.close()
    (tmp_path / "bascule.db").unlink()
    store = SqliteStore(tmp_path / "bascule.db")

    assert [record.level for record in await store.levels.sessions()] == [CONFIDENTIAL]
    assert (await store.levels.begin(ALICE, 2.0)).level is CONFIDENTIAL
    await store.close()


async def test_a_receipt_of_whom_both_witnesses_have_lost_tells_the_worst(store: SqliteStore, tmp_path: Path):
    await store.levels.raise_level(ALICE, INTERNAL, LABEL, 1.0)
    await damaged(store, "DELETE FROM sessions")
    (tmp_path / "bascule.db-raises").unlink()

    (changed,) = (await store.levels.poll("one", Position())).changed
    assert (changed.level, changed.doubt) == (SECRET, STRAY_RECEIPT)
    assert await store.levels.begin(ALICE, 2.0) == changed
    assert await store.levels.sessions() == (changed,)


async def test_a_store_that_cannot_be_read_is_an_error(tmp_path: Path):
    (tmp_path / "bascule.db").write_bytes(b"not a database" * 1000)
    store = SqliteStore(tmp_path / "bascule.db")
    levels = store.levels

    for ask in (
        levels.begin(ALICE, 1.0),
        levels.sessions(),
        levels.poll("one", Position()),
        levels.register("one", 1.0),
    ):
        with pytest.raises(StoreError):
            await ask
    await store.close()


async def test_a_journal_that_cannot_be_written_is_an_error_and_changes_nothing(store: SqliteStore, tmp_path: Path):
    before = await store.levels.begin(ALICE, 1.0)
    journal, aside = tmp_path / "bascule.db-raises", tmp_path / "aside"
    journal.replace(aside)
    journal.symlink_to(aside)
    with pytest.raises(StoreError, match="cannot be used"):
        await store.levels.raise_level(ALICE, SECRET, LABEL, 2.0)
    aside.replace(journal)

    assert await store.levels.begin(ALICE, 3.0) == before


async def test_whoever_gives_up_waiting_leaves_a_change_whole(store: SqliteStore):
    await store.levels.begin(ALICE, 1.0)
    asked = asyncio.ensure_future(store.levels.raise_level(ALICE, SECRET, LABEL, 2.0))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked

    record = await store.levels.begin(ALICE, 3.0)
    assert (record.level, record.doubt) == (SECRET, "")


async def test_only_changes_of_levels_wait_for_the_disk(store: SqliteStore):
    async def how() -> int:
        return await store._do(lambda db: db.execute("PRAGMA synchronous").fetchone()[0])

    normal, full = 1, 2
    seen: list[int] = []
    await store._do(
        lambda db: db.create_function(
            "note", 1, lambda _: seen.append(db.execute("PRAGMA synchronous").fetchone()[0]) or 0
        )
    )
    await store._do(lambda db: db.execute("CREATE TEMP TRIGGER a AFTER UPDATE ON runtimes BEGIN SELECT note(1); END"))
    await store._do(lambda db: db.execute("CREATE TEMP TRIGGER b AFTER INSERT ON sessions BEGIN SELECT note(1); END"))
    await store.levels.acknowledge("one", await store.levels.register("one", 1.0))
    await store.levels.raise_level(ALICE, SECRET, LABEL, 1.0)

    assert (seen, await how()) == ([normal, full], full)


async def test_a_long_history_does_not_make_the_journal_long(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal_module, "MANY", 20)
    other = SqliteStore(tmp_path / "bascule.db")
    for number in range(60):
        await store.levels.raise_level(ALICE, SECRET, LABEL, 1.0)
        await other.levels.lower_level(ALICE, PUBLIC, OPERATOR, 1.0)
        record = await store.levels.begin(ALICE, 1.0)
        assert (record.level, record.epoch, record.doubt) == (PUBLIC, 2 * number + 2, "")
    await other.close()

    assert len((tmp_path / "bascule.db-raises").read_bytes().splitlines()) < 80


async def test_ids_name_no_files(store: SqliteStore, tmp_path: Path):
    for name in ("../../evil", "a/b", "..", "~root"):
        await store.levels.raise_level(Principal(name, name), SECRET, Cause("dataset", dataset=name), 1.0)

    names = {path.name for path in tmp_path.iterdir()} - {"bascule.db-wal", "bascule.db-shm"}
    assert names == {"bascule.db", "bascule.db-raises", "keys"}


async def test_closing_takes_the_bell_down(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.levels.register("one", 1.0)
    folder = store.levels._bell._folder
    assert len(list(folder.iterdir())) == 1
    await store.close()

    assert not folder.exists()


BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
NOTES = DatasetStatement("alice", "s-1", "notes", CONFIDENTIAL)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(WITNESSES + receipts.SCHEMA)
    yield connection
    connection.close()


@pytest.fixture
def witnesses(tmp_path: Path) -> SqliteWitnesses:
    return SqliteWitnesses(tmp_path / "bascule.db", KeyFiles(tmp_path / "keys"))


def test_what_is_written_is_found_in_both(db: sqlite3.Connection, witnesses: SqliteWitnesses):
    witnesses.write(db, Draft(RAISED))
    witnesses.keep_dataset(db, NOTES)
    evidence = witnesses.evidence(db, ALICE)

    assert (evidence.row, evidence.line, evidence.datasets) == (RAISED, RAISED, (NOTES,))
    assert witnesses.all_evidence(db) == [evidence]


def test_the_line_is_there_before_the_row(db: sqlite3.Connection, witnesses: SqliteWitnesses):
    witnesses.write(db, Draft(BEGUN))
    db.commit()
    db.execute("CREATE TRIGGER no BEFORE INSERT ON sessions BEGIN SELECT raise(ABORT, 'the disk is full'); END")
    with pytest.raises(sqlite3.IntegrityError, match="the disk is full"):
        witnesses.write(db, Draft(RAISED))
    evidence = witnesses.evidence(db, ALICE)

    assert (evidence.row, evidence.line) == (BEGUN, RAISED)


def test_no_row_is_written_whose_line_could_not_be(db: sqlite3.Connection, witnesses: SqliteWitnesses, tmp_path: Path):
    (tmp_path / "bascule.db-raises").mkdir()
    with pytest.raises(OSError, match="a folder"):
        witnesses.write(db, Draft(RAISED))

    assert db.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


def test_what_the_journal_has_already_is_not_added_again(
    db: sqlite3.Connection, witnesses: SqliteWitnesses, tmp_path: Path
):
    witnesses.write(db, Draft(RAISED))
    db.rollback()
    before = (tmp_path / "bascule.db-raises").read_bytes()
    witnesses.write(db, Draft(RAISED, told=True))

    assert (tmp_path / "bascule.db-raises").read_bytes() == before
    assert witnesses.evidence(db, ALICE).settled


@pytest.mark.parametrize("damage", [b"", b"x" * 200, "text", 7])
def test_a_damaged_row_is_unreadable(db: sqlite3.Connection, witnesses: SqliteWitnesses, damage: object):
    witnesses.write(db, Draft(RAISED))
    witnesses.keep_dataset(db, NOTES)
    db.execute("UPDATE sessions SET statement = ?", (damage,))
    db.execute("UPDATE datasets SET statement = ?", (damage,))
    evidence = witnesses.evidence(db, ALICE)

    assert (evidence.row, evidence.line, evidence.datasets) == (UNREADABLE, RAISED, (UNREADABLE,))


def test_whoever_one_witness_alone_knows_is_listed(db: sqlite3.Connection, witnesses: SqliteWitnesses, tmp_path: Path):
    bobs = replace(BEGUN, user_id="bob")
    witnesses.write(db, Draft(RAISED))
    db.rollback()
    witnesses.write(db, Draft(bobs))
    assert {each.principal: each.row for each in witnesses.all_evidence(db)} == {ALICE: None, BOB: bobs}

    (tmp_path / "bascule.db-raises").unlink()
    assert {each.principal: each.line for each in witnesses.all_evidence(db)} == {BOB: None}


@pytest.mark.parametrize("name", ["", "a\nb", b"\xff"])
def test_a_row_of_nobody_hides_no_other(db: sqlite3.Connection, witnesses: SqliteWitnesses, name: object):
    witnesses.write(db, Draft(RAISED))
    witnesses.keep_dataset(db, NOTES)
    db.execute("UPDATE sessions SET user_id = ?", (name,))
    db.execute("UPDATE datasets SET user_id = ?", (name,))

    (evidence,) = witnesses.all_evidence(db)
    assert (evidence.principal, evidence.row, evidence.line) == (ALICE, None, RAISED)


def test_datasets_that_cannot_be_read_can_be_given_up(db: sqlite3.Connection, witnesses: SqliteWitnesses):
    witnesses.write(db, Draft(RAISED))
    witnesses.keep_dataset(db, NOTES)
    witnesses.keep_dataset(db, replace(NOTES, dataset="other"))
    db.execute("UPDATE datasets SET statement = x'00' WHERE name = 'other'")
    kept = witnesses.keep_readable_datasets(db, witnesses.evidence(db, ALICE))

    assert kept.datasets == witnesses.evidence(db, ALICE).datasets == (NOTES,)


def test_another_key_makes_all_unreadable(db: sqlite3.Connection, witnesses: SqliteWitnesses, tmp_path: Path):
    witnesses.write(db, Draft(RAISED))
    others = SqliteWitnesses(tmp_path / "bascule.db", KeyFiles(tmp_path / "other keys"))
    evidence = others.evidence(db, ALICE)

    assert (evidence.row, evidence.line) == (UNREADABLE, None)
