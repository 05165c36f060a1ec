"""Anchors in PostgreSQL: what the contract does not see."""

from pathlib import Path

from bascule.store.audit.anchors import Anchor, AnchorStore
from bascule.store.postgres.schema import SCHEMA_VERSION
from bascule.store.postgres.store import PostgresStore
from support.postgres import execute

ANCHOR = Anchor("w-0001", 7, "ab" * 32, 5.0)


async def test_a_database_from_before_there_were_anchors_gets_their_table(database: str, tmp_path: Path):
    store = PostgresStore(database, tmp_path)
    await store.open()
    await store.close()
    execute(
        database,
        "DROP TABLE bascule.anchors; ALTER TABLE bascule.about DROP store_id; UPDATE bascule.about SET version = 1",
    )
    store = PostgresStore(database, tmp_path)
    anchors: AnchorStore = store.anchors

    assert await anchors.keep(ANCHOR, b"sealed")
    assert await anchors.sealed() == {"w-0001": b"sealed"}
    await store.close()
    assert execute(database, "SELECT version FROM bascule.about") == [(SCHEMA_VERSION,)]
