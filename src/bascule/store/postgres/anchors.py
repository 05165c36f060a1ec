"""Anchors of the audit log in PostgreSQL, of all machines that use the database."""

from bascule.store.audit.anchors import Anchor
from bascule.store.postgres.connection import PostgresConnection, rows

SCHEMA = b"""
CREATE TABLE bascule.anchors (writer text COLLATE "C" PRIMARY KEY, sequence bigint NOT NULL, sealed bytea NOT NULL);
"""

_FORWARD = b"""
INSERT INTO bascule.anchors AS kept VALUES (%s, %s, %s) ON CONFLICT (writer) DO UPDATE
SET sequence = EXCLUDED.sequence, sealed = EXCLUDED.sealed WHERE EXCLUDED.sequence > kept.sequence
RETURNING writer
"""


class PostgresAnchors:
    """The anchors in one database."""

    def __init__(self, changes: PostgresConnection, looks: PostgresConnection) -> None:
        self._changes = changes
        self._looks = looks

    async def keep(self, anchor: Anchor, sealed: bytes) -> bool:
        values = (anchor.writer, anchor.sequence, sealed)
        # In a transaction of its own: that commit waits for the disk, whatever the server is set to.
        return bool(await self._changes.change(lambda db: rows(db, _FORWARD, *values)))

    async def sealed(self) -> dict[str, object]:
        found = await self._looks.ask(lambda db: rows(db, b"SELECT writer, sealed FROM bascule.anchors"))
        return {writer: bytes(sealed) for writer, sealed in found}
