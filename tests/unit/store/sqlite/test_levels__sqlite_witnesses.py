"""Rows and lines: what is read of both, and in which order they are written."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import Draft
from bascule.store.levels.signed_statement import UNREADABLE, DatasetStatement, Statement
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.sqlite.levels import WITNESSES, SqliteWitnesses

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
NOTES = DatasetStatement("alice", "s-1", "notes", CONFIDENTIAL)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(WITNESSES)
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
    with pytest.raises(OSError, match="directory"):
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
