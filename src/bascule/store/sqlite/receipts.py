"""Receipts of all changes of sensitivity levels, in SQLite."""

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Change, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import Draft
from bascule.store.levels.position import UNREADABLE, Position, fingerprint

SCHEMA = """
CREATE TABLE receipts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, session_id TEXT NOT NULL, change TEXT NOT NULL,
    at REAL NOT NULL, before INTEGER NOT NULL, after INTEGER NOT NULL, epoch INTEGER NOT NULL, cause TEXT NOT NULL,
    closed TEXT NOT NULL DEFAULT '[]', twins TEXT NOT NULL DEFAULT '{}', fence TEXT NOT NULL DEFAULT ''
);
CREATE INDEX receipts_of ON receipts (user_id, session_id);
"""

_MARKS = "SELECT number, user_id, session_id, epoch, at FROM receipts"

_ALL = "SELECT number, user_id, session_id, change, at, before, after, epoch, cause, closed, twins, fence FROM receipts"


def add_receipt(
    db: sqlite3.Connection, principal: Principal, change: Change, draft: Draft, cause: Cause, at: float
) -> Receipt:
    said = draft.statement
    values = (principal.user_id, principal.session_id, change, at, draft.before, said.level, said.epoch)
    added = db.execute(
        "INSERT INTO receipts (user_id, session_id, change, at, before, after, epoch, cause)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, msgspec.json.encode(cause).decode()),
    )
    assert added.lastrowid is not None
    return Receipt(added.lastrowid, change, principal, at, draft.before, said.level, said.epoch, cause)


def read_receipts(db: sqlite3.Connection, principal: Principal | None, limit: int) -> tuple[Receipt, ...]:
    if principal is None:
        found = db.execute(f"{_ALL} ORDER BY number DESC LIMIT ?", (limit,))
    else:
        of = (principal.user_id, principal.session_id, limit)
        found = db.execute(f"{_ALL} WHERE user_id = ? AND session_id = ? ORDER BY number DESC LIMIT ?", of)
    return tuple(_receipt(row) for row in reversed(found.fetchall()))


def complete(
    db: sqlite3.Connection, number: int, closed: tuple[str, ...], twins: Mapping[str, str], fence: str
) -> None:
    row = db.execute(f"{_ALL} WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise UsageError(f"there is no receipt {number}", fix="complete a receipt that a change has returned")
    kept = _receipt(row)
    all_closed = tuple(dict.fromkeys((*kept.closed, *closed)))
    db.execute(
        "UPDATE receipts SET closed = ?, twins = ?, fence = ? WHERE number = ?",
        (_text(all_closed), _text({**kept.twins, **twins}), fence or kept.fence, number),
    )


def position_of(db: sqlite3.Connection, number: int | None = None) -> Position:
    """Position of the receipt with this number, else of the last one."""
    about = db.execute("SELECT id FROM about").fetchone()
    if about is None:
        raise sqlite3.DatabaseError("the store has lost its id")
    (origin,) = about
    if number is None:
        row = db.execute(f"{_MARKS} ORDER BY number DESC LIMIT 1").fetchone()
    else:
        row = db.execute(f"{_MARKS} WHERE number = ?", (number,)).fetchone()
    return Position(origin=origin) if row is None else Position(row[0], _fingerprint(row), origin)


def fingerprints_from(db: sqlite3.Connection, number: int) -> dict[int, str]:
    """Fingerprints of the readable receipts from this number on."""
    found: dict[int, str] = {}
    for row in db.execute(f"{_MARKS} WHERE number >= ?", (number,)):
        if (mark := _fingerprint(row)) != UNREADABLE:
            found[row[0]] = mark
    return found


def holds(db: sqlite3.Connection, position: Position) -> bool:
    """Whether this database has the receipt of a position."""
    return position_of(db, position.number) == position


def changed_after(db: sqlite3.Connection, number: int) -> list[Principal]:
    found = db.execute("SELECT DISTINCT user_id, session_id FROM receipts WHERE number > ?", (number,))
    try:
        return [Principal(*each) for each in found.fetchall()]
    except (UsageError, AttributeError, TypeError) as error:
        raise sqlite3.DatabaseError("a receipt cannot be read") from error


def _fingerprint(row: tuple[Any, ...]) -> str:
    _, user_id, session_id, epoch, at = row
    try:
        return fingerprint(Principal(user_id, session_id), epoch, at)
    except (UsageError, AttributeError, TypeError, ValueError):
        return UNREADABLE


def _receipt(row: tuple[Any, ...]) -> Receipt:
    number, user_id, session_id, change, at, before, after, epoch, cause, closed, twins, fence = row
    try:
        return msgspec.convert(
            {
                "number": number,
                "change": change,
                "principal": Principal(user_id, session_id),
                "at": at,
                "before": DataSensitivity(before),
                "after": DataSensitivity(after),
                "epoch": epoch,
                "cause": msgspec.json.decode(cause),
                "closed": msgspec.json.decode(closed),
                "twins": msgspec.json.decode(twins),
                "fence": fence,
            },
            Receipt,
        )
    except (UsageError, AttributeError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"receipt {number} cannot be read") from error


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
