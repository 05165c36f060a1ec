"""Anchors in SQLite: what the contract does not see."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.audit.anchors import Anchor, AnchorStore
from bascule.store.sqlite.store import SqliteStore

ANCHOR = Anchor("w-0001", 7, "ab" * 32, 5.0)


async def test_a_database_from_before_there_were_anchors_gets_their_table(tmp_path: Path):
    path = tmp_path / "bascule.db"
    store = SqliteStore(path)
    await store.open()
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE anchors")
        db.execute("PRAGMA user_version = 2")
        db.commit()
    store = SqliteStore(path)
    anchors: AnchorStore = store.anchors

    assert await anchors.keep(ANCHOR, b"sealed")
    assert await anchors.sealed() == {"w-0001": b"sealed"}
    await store.close()


async def test_a_database_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "bascule.db").mkdir()
    with pytest.raises(StoreError):
        await SqliteStore(tmp_path / "bascule.db").anchors.keep(ANCHOR, b"sealed")
