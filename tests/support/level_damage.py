"""Content of a store that keeps levels, as data: tests read it, damage it and write it back."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import psycopg

DATABASE, JOURNAL = "bascule.db", "bascule.db-raises"


@dataclass(frozen=True)
class Entry:
    """One row of a table, or one line of the journal."""

    table: str
    user: str
    name: str
    """Name of a dataset, or empty."""
    number: int | None
    """Place in its table; None for one that was added."""
    content: Any
    """None for one that was emptied."""


Kept: TypeAlias = tuple[Entry, ...]
"""Everything that a store keeps of levels. Lines are in their order."""


@dataclass(frozen=True)
class Damage:
    """One harm to one part of what is kept of a user."""

    part: str
    harm: str

    def __str__(self) -> str:
        return f"{self.part} {self.harm}"


@dataclass(frozen=True)
class Surroundings:
    """Sources of genuine content for harms."""

    older: Kept
    """The same store, before the last change."""
    other: str
    """Another user of it."""
    stranger: Kept
    """Another store under the same key."""


def _table(name: str) -> Callable[[Kept, str], list[Entry]]:
    return lambda kept, user: [entry for entry in kept if entry.table == name and entry.user == user]


def _line(place: int) -> Callable[[Kept, str], list[Entry]]:
    return lambda kept, user: _table("line")(kept, user)[place:][:1]


PARTS = {
    "row": _table("row"),
    "last line": _line(-1),
    "middle line": _line(-2),
    "all lines": _table("line"),
    "receipts": _table("receipt"),
    "datasets": _table("dataset"),
    "journal file": lambda kept, _: [entry for entry in kept if entry.table in {"title", "line"}],
}


def damaged(kept: Kept, damage: Damage, user: str, around: Surroundings) -> Kept:
    """The content of the store after a damage to this user's part."""
    select = PARTS[damage.part]
    chosen = select(kept, user)
    match damage.harm:
        case "added again":
            return (*kept, *(replace(entry, number=None, name=f"{entry.name}00") for entry in chosen))
        case "swapped" if damage.part != "journal file":
            return _exchanged(kept, chosen, select(kept, around.other))
        case "lost":
            new = []
        case "emptied":
            new = [replace(entry, content=None) for entry in chosen]
        case "older" if damage.part in {"last line", "middle line"}:
            new = [replace(entry, content=_before(kept, entry)) for entry in chosen]
        case "older":
            new = select(around.older, user)
        case _:
            new = select(around.stranger, user)
    return _replaced(kept, chosen, new)


def _before(kept: Kept, line: Entry) -> Any:
    """The content of the line before this one of the same user."""
    own = _table("line")(kept, line.user)
    return own[max(own.index(line) - 1, 0)].content


def _replaced(kept: Kept, chosen: list[Entry], new: list[Entry]) -> Kept:
    first = next((place for place, entry in enumerate(kept) if entry in chosen), 0)
    rest = [entry for entry in kept[first:] if entry not in chosen]
    return (*kept[:first], *new, *rest)


def _exchanged(kept: Kept, chosen: list[Entry], others: list[Entry]) -> Kept:
    for one, other in zip(chosen, others, strict=False):
        swapped = {one: replace(one, content=other.content), other: replace(other, content=one.content)}
        kept = tuple(swapped.get(entry, entry) for entry in kept)
    return kept


class Engine(Protocol):
    """Reads and writes everything that one engine keeps of levels, past Bascule."""

    def read(self, folder: Path) -> Kept: ...

    def write(self, folder: Path, kept: Kept) -> None: ...


class SqliteFiles:
    """The database file and the journal in a state folder that no process uses."""

    def read(self, folder: Path) -> Kept:
        with sqlite3.connect(folder / DATABASE) as db:
            rows = db.execute("SELECT user_id, statement FROM sessions").fetchall()
            datasets = db.execute("SELECT user_id, name, statement FROM datasets").fetchall()
            receipts = db.execute("SELECT * FROM receipts ORDER BY number").fetchall()
        db.close()
        title, *lines = [line for line in (folder / JOURNAL).read_bytes().split(b"\n") if line]
        return (
            Entry("title", "", "", None, title),
            *(Entry("line", _owner(line), "", number, line) for number, line in enumerate(lines)),
            *(Entry("row", user, "", None, statement) for user, statement in rows),
            *(Entry("dataset", user, name, None, statement) for user, name, statement in datasets),
            *(Entry("receipt", user, "", number, tuple(rest)) for number, user, _, *rest in receipts),
        )

    def write(self, folder: Path, kept: Kept) -> None:
        (folder / JOURNAL).unlink(missing_ok=True)
        if any(entry.table == "title" for entry in kept):
            journal = [entry.content or b"" for entry in kept if entry.table in {"title", "line"}]
            (folder / JOURNAL).write_bytes(b"".join(line + b"\n" for line in journal if line))
        with sqlite3.connect(folder / DATABASE) as db:
            db.executescript("DELETE FROM sessions; DELETE FROM datasets; DELETE FROM receipts")
            for entry in kept:
                match entry.table:
                    case "row":
                        db.execute("INSERT INTO sessions VALUES (?, 's-1', ?)", (entry.user, entry.content or b""))
                    case "dataset":
                        values = (entry.user, entry.name, entry.content or b"")
                        db.execute("INSERT INTO datasets VALUES (?, 's-1', ?, ?)", values)
                    case "receipt":
                        rest = entry.content or ("",) * 9
                        values = (entry.number, entry.user, *rest)
                        db.execute(f"INSERT INTO receipts VALUES (?, ?, 's-1'{', ?' * 9})", values)
                    case _:
                        pass
        db.close()


def _owner(line: bytes) -> str:
    """The user whose id stands first in the statement of a line."""
    return line.partition(b'"')[2].partition(b'"')[0].decode()


class PostgresTables:
    """The tables of one database."""

    def __init__(self, address: str) -> None:
        self._address = address

    def read(self, folder: Path) -> Kept:
        with psycopg.connect(self._address) as db:
            return (
                *self._all(db, "line", b"SELECT user_id, '', number, sealed FROM bascule.raises ORDER BY number"),
                *self._all(db, "row", b"SELECT user_id, '', NULL, sealed FROM bascule.sessions"),
                *self._all(db, "dataset", b"SELECT user_id, encode(place, 'hex'), NULL, sealed FROM bascule.datasets"),
                *self._all(db, "receipt", b"SELECT user_id, '', number, receipt FROM bascule.receipts ORDER BY number"),
            )

    @staticmethod
    def _all(db: psycopg.Connection[tuple[Any, ...]], table: str, query: bytes) -> Iterable[Entry]:
        return [Entry(table, *columns) for columns in db.execute(query).fetchall()]

    def write(self, folder: Path, kept: Kept) -> None:
        with psycopg.connect(self._address) as db:
            db.execute(b"SET LOCAL synchronous_commit = off")
            for table in ("sessions", "raises", "datasets", "receipts"):
                db.execute(b"DELETE FROM bascule." + table.encode())
            for entry in kept:
                content = entry.content or b""
                match entry.table:
                    case "row":
                        db.execute(b"INSERT INTO bascule.sessions VALUES (%s, 's-1', %s)", (entry.user, content))
                    case "dataset":
                        query = b"INSERT INTO bascule.datasets VALUES (%s, 's-1', %s, %s)"
                        db.execute(query, (entry.user, bytes.fromhex(entry.name), content))
                    case _:
                        self._insert(db, entry, content)

    @staticmethod
    def _insert(db: psycopg.Connection[tuple[Any, ...]], entry: Entry, content: bytes) -> None:
        table, column = {"line": ("raises", "sealed"), "receipt": ("receipts", "receipt")}[entry.table]
        if entry.number is None:
            query = f"INSERT INTO bascule.{table} (user_id, session_id, {column}) VALUES (%s, 's-1', %s)"
            db.execute(query.encode(), (entry.user, content))
            return
        query = f"INSERT INTO bascule.{table} OVERRIDING SYSTEM VALUE VALUES (%s, %s, 's-1', %s)"
        db.execute(query.encode(), (entry.number, entry.user, content))
