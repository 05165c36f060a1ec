"""The anchors of the audit log in SQLite."""

import sqlite3

from bascule.store.audit.anchors import Anchor
from bascule.store.sqlite.levels import Turns

SCHEMA = """
CREATE TABLE anchors (writer TEXT PRIMARY KEY, sequence INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID;
"""

_FORWARD = """
INSERT INTO anchors VALUES (?, ?, ?) ON CONFLICT (writer) DO UPDATE
SET sequence = excluded.sequence, sealed = excluded.sealed WHERE excluded.sequence > anchors.sequence
"""


class SqliteAnchors:
    """The anchors in one database file."""

    def __init__(self, turn: Turns) -> None:
        self._turn = turn

    async def keep(self, anchor: Anchor, sealed: bytes) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            return db.execute(_FORWARD, (anchor.writer, anchor.sequence, sealed)).rowcount == 1

        return await self._turn(work)

    async def sealed(self) -> dict[str, object]:
        return await self._turn(lambda db: dict(db.execute("SELECT writer, sealed FROM anchors").fetchall()))
