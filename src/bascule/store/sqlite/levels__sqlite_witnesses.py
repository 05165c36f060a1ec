"""Both witnesses of every level where the database is SQLite: its rows, and the journal beside it."""

import sqlite3
from pathlib import Path

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.store.levels.change import Draft, Evidence
from bascule.store.levels.journal import Journal
from bascule.store.levels.signed_statement import (
    DatasetStatement,
    Witnessed,
    WitnessedDataset,
    read_dataset,
    read_statement,
    seal,
)
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys__level_key import level_key

WITNESSES = """
CREATE TABLE sessions (
    user_id TEXT NOT NULL, session_id TEXT NOT NULL, statement BLOB NOT NULL,
    PRIMARY KEY (user_id, session_id)
) WITHOUT ROWID;
CREATE TABLE datasets (
    user_id TEXT NOT NULL, session_id TEXT NOT NULL, name TEXT NOT NULL, statement BLOB NOT NULL,
    PRIMARY KEY (user_id, session_id, name)
) WITHOUT ROWID;
"""


class SqliteWitnesses:
    """The rows are always read before the journal and written after it. So a row that is ahead of its line is never
    somebody's change under way, but a loss."""

    def __init__(self, database: Path, keys: KeyFiles) -> None:
        self._path = database.with_name(f"{database.name}-raises")
        self._keys = keys
        self._opened: tuple[bytes, Journal] | None = None

    def _open(self) -> tuple[bytes, Journal]:
        # Only who asks for a level needs the key: it is not made for others.
        if self._opened is None:
            key = level_key(self._keys)
            self._opened = key, Journal(self._path, key)
        return self._opened

    def evidence(self, db: sqlite3.Connection, principal: Principal) -> Evidence:
        key, journal = self._open()
        where = "WHERE user_id = ? AND session_id = ?"
        of = (principal.user_id, principal.session_id)
        found = db.execute(f"SELECT statement FROM sessions {where}", of).fetchone()  # noqa: S608 -- a constant of ours
        datasets = db.execute(f"SELECT statement FROM datasets {where}", of).fetchall()  # noqa: S608 -- the same
        journal.refresh()
        row = None if found is None else read_statement(found[0], key)
        return Evidence(principal, row, journal.line(principal), tuple(read_dataset(each, key) for (each,) in datasets))

    def all_evidence(self, db: sqlite3.Connection) -> list[Evidence]:
        """Of every agent session that either witness knows."""
        key, journal = self._open()
        rows: dict[Principal, Witnessed] = {}
        for user_id, session_id, statement in db.execute("SELECT user_id, session_id, statement FROM sessions"):
            if (principal := _principal(user_id, session_id)) is not None:
                rows[principal] = read_statement(statement, key)
        datasets: dict[Principal, list[WitnessedDataset]] = {}
        for user_id, session_id, statement in db.execute("SELECT user_id, session_id, statement FROM datasets"):
            if (principal := _principal(user_id, session_id)) is not None:
                datasets.setdefault(principal, []).append(read_dataset(statement, key))
        journal.refresh()
        stated = (Principal(each.user_id, each.session_id) for each in journal.statements())
        return [
            Evidence(each, rows.get(each), journal.line(each), tuple(datasets.get(each, ())))
            for each in dict.fromkeys((*rows, *datasets, *stated))
        ]

    def write(self, db: sqlite3.Connection, draft: Draft) -> None:
        """Within a transaction that keeps all other writers out. The caller commits."""
        key, journal = self._open()
        if draft.told:
            journal.sync()
        else:
            journal.tidy()
            journal.append(draft.statement)
        said = draft.statement
        row = (said.user_id, said.session_id, seal(said, key))
        db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", row)

    def keep_dataset(self, db: sqlite3.Connection, said: DatasetStatement) -> None:
        key, _ = self._open()
        row = (said.user_id, said.session_id, said.dataset, seal(said, key))
        db.execute("INSERT OR REPLACE INTO datasets VALUES (?, ?, ?, ?)", row)

    def keep_readable_datasets(self, db: sqlite3.Connection, evidence: Evidence) -> Evidence:
        """Give up those that cannot be read, which only an operator may ask for."""
        of = evidence.principal
        assert evidence.record is not None  # what is unknown is not lowered
        known = evidence.record.datasets.items()
        readable = tuple(DatasetStatement(of.user_id, of.session_id, name, level) for name, level in known)
        db.execute("DELETE FROM datasets WHERE user_id = ? AND session_id = ?", (of.user_id, of.session_id))
        for each in readable:
            self.keep_dataset(db, each)
        return Evidence(of, evidence.row, evidence.line, readable)


def _principal(user_id: object, session_id: object) -> Principal | None:
    """None for what damage has made of one; the journal has it as it was."""
    if not isinstance(user_id, str) or not isinstance(session_id, str):
        return None
    try:
        return Principal(user_id, session_id)
    except UsageError:
        return None
