"""Owners in SQLite: what the contract does not see."""

import sqlite3
from contextlib import closing
from pathlib import Path

from bascule.core.principal import Principal
from bascule.store.owners import LIFE, Member
from bascule.store.sqlite.owners import since_boot
from bascule.store.sqlite.store import SqliteStore

ALICE = Principal("alice", "s-1")


async def test_a_database_from_before_there_were_members_gets_their_tables(tmp_path: Path):
    path = tmp_path / "bascule.db"
    store = SqliteStore(path)
    await store.open()
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE members")
        db.execute("DROP TABLE owners")
        db.execute("DROP TABLE about")
        db.execute("PRAGMA user_version = 3")
        db.commit()
    store = SqliteStore(path)
    await store.owners.join(Member("one", ""))
    assert await store.owners.claim(ALICE, "one") == "one"
    await store.close()


async def test_nobody_lives_on_from_before_the_machine_was_started(tmp_path: Path):
    """The clock begins anew then, and what was said by the old one lies far ahead."""
    path = tmp_path / "bascule.db"
    store = SqliteStore(path)
    for name in ("one", "two"):
        await store.owners.join(Member(name, ""))
    await store.owners.claim(ALICE, "one")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE members SET until = ? WHERE id = 'one'", (since_boot() + 1000 * LIFE,))
    assert await store.owners.claim(ALICE, "two") == "two"
    await store.close()
