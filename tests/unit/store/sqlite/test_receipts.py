"""Receipts in SQLite, those that are damaged too."""

import sqlite3
from collections.abc import Iterator

import pytest

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import Draft
from bascule.store.levels.position import UNREADABLE, Position
from bascule.store.levels.signed_statement import Statement
from bascule.store.sqlite.receipts import (
    SCHEMA,
    add_receipt,
    changed_after,
    complete,
    fingerprints_from,
    holds,
    position_of,
    read_receipts,
)

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
CAUSE = Cause("operator root", "notes", "read", "päyroll", "it was “wrong”\n")


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(f"{SCHEMA}; CREATE TABLE about (id TEXT); INSERT INTO about VALUES ('here')")
    yield connection
    connection.close()


def add(db: sqlite3.Connection, principal: Principal = ALICE) -> int:
    statement = Statement(principal.user_id, principal.session_id, DataSensitivity.SECRET, 3, ended=False, since=1.0)
    return add_receipt(db, principal, "raise", Draft(statement, DataSensitivity.INTERNAL), CAUSE, 2.5).number


def test_a_receipt_is_read_as_it_was_made(db: sqlite3.Connection):
    assert position_of(db) == Position(origin="here")
    number = add(db)

    (receipt,) = read_receipts(db, ALICE, 10)
    assert receipt.number == position_of(db).number == number
    assert (receipt.change, receipt.principal, receipt.at, receipt.cause) == ("raise", ALICE, 2.5, CAUSE)
    assert (receipt.before, receipt.after, receipt.epoch) == (DataSensitivity.INTERNAL, DataSensitivity.SECRET, 3)
    assert read_receipts(db, BOB, 10) == ()


def test_who_has_changed_is_told_once(db: sqlite3.Connection):
    first = add(db, BOB)
    for _ in range(3):
        add(db)

    assert changed_after(db, first) == [ALICE]
    assert set(changed_after(db, 0)) == {ALICE, BOB}
    assert changed_after(db, position_of(db).number) == []


def test_a_number_is_never_given_twice(db: sqlite3.Connection):
    number = add(db)
    db.execute("DELETE FROM receipts")

    assert add(db) == number + 1


def test_what_is_completed_is_merged(db: sqlite3.Connection):
    number = add(db)
    complete(db, number, ("a open", "b open"), {"a": "probed", "b": "refused"}, "1 acknowledged")
    complete(db, number, ("b open", "c open"), {"b": "declared"}, "")

    (receipt,) = read_receipts(db, None, 10)
    assert receipt.closed == ("a open", "b open", "c open")
    assert (receipt.twins, receipt.fence) == ({"a": "probed", "b": "declared"}, "1 acknowledged")


def test_only_what_is_there_is_completed(db: sqlite3.Connection):
    with pytest.raises(UsageError, match="no receipt 5"):
        complete(db, 5, (), {}, "")


@pytest.mark.parametrize(
    ("column", "damage"),
    [
        ("user_id", ""),
        ("user_id", b"\xff"),
        ("session_id", "a\nb"),
        ("change", "rise"),
        ("at", "soon"),
        ("before", 9),
        ("after", "x"),
        ("epoch", "x"),
        ("cause", "{"),
        ("cause", "7"),
        ("closed", "[1]"),
        ("twins", "[]"),
        ("fence", b"\xff"),
    ],
)
def test_a_damaged_receipt_is_an_error_of_the_database(db: sqlite3.Connection, column: str, damage: object):
    add(db)
    db.execute(f"UPDATE receipts SET {column} = ?", (damage,))

    with pytest.raises(sqlite3.DatabaseError, match="cannot be read"):
        read_receipts(db, None, 10)


@pytest.mark.parametrize("damage", ["", b"\xff"])
def test_a_change_of_nobody_is_an_error_of_the_database(db: sqlite3.Connection, damage: object):
    add(db)
    db.execute("UPDATE receipts SET user_id = ?", (damage,))

    with pytest.raises(sqlite3.DatabaseError, match="cannot be read"):
        changed_after(db, 0)


def test_a_database_holds_a_position_of_its_own_history_only(db: sqlite3.Connection):
    add(db)
    add(db)
    first, last = position_of(db, 1), position_of(db)

    assert all(holds(db, each) for each in (Position(origin="here"), first, last))
    for other in (
        Position(2, first.fingerprint, "elsewhere"),
        Position(3, last.fingerprint, "here"),
        Position(0, last.fingerprint, "here"),
    ):
        assert not holds(db, other)
    db.execute("UPDATE receipts SET epoch = 4 WHERE number = 1")
    assert (holds(db, first), holds(db, last)) == (False, True)


def test_a_damaged_receipt_has_no_fingerprint(db: sqlite3.Connection):
    for _ in range(3):
        add(db)
    damaged = position_of(db, 2)
    db.execute("UPDATE receipts SET user_id = '' WHERE number = 2")

    assert fingerprints_from(db, 2).keys() == {3}
    assert not holds(db, damaged)
    assert position_of(db, 2).fingerprint == UNREADABLE


def test_a_store_that_has_lost_its_id_is_an_error(db: sqlite3.Connection):
    db.execute("DELETE FROM about")

    with pytest.raises(sqlite3.DatabaseError, match="lost its id"):
        position_of(db)
