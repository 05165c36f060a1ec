"""The PostgreSQL engine of the store. What it does with listings and levels, as every engine does, is in the contracts."""

from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.store.interface import KeptListing, ListingKey
from bascule.store.levels.position import Position
from bascule.store.postgres.store import PostgresStore
from support.postgres import PostgresServer, execute
from support.waiting import until

KEY = ListingKey("/home/a/.mcp.json", "open", "files")
LISTING = KeptListing("sha256:whole", {"read": "sha256:1", "write": "sha256:2"})

OURS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND application_name = 'bascule' AND backend_type = 'client backend'"
)


@pytest.mark.long
async def test_a_server_that_is_restarted_under_an_open_store_is_found_again(
    database: str, postgres: PostgresServer, tmp_path: Path
):
    store = PostgresStore(database, tmp_path)
    await store.keep_listing(KEY, LISTING)
    assert await store.listing(KEY) == LISTING
    for mode in ("fast", "immediate"):
        postgres.restart(mode)
        assert await store.listing(KEY) == LISTING
        await store.keep_listing(KEY, LISTING)
    await store.close()


async def test_a_server_that_is_away_is_an_error_until_it_is_back(
    database: str, postgres: PostgresServer, tmp_path: Path
):
    store = PostgresStore(database, tmp_path)
    await store.open()
    postgres.stop()
    try:
        with pytest.raises(StoreError, match="cannot be used"):
            await store.keep_listing(KEY, LISTING)
        with pytest.raises(StoreError):
            await store.levels.begin(Principal("alice", "s-1"), 1.0)
    finally:
        postgres.start()
    await store.keep_listing(KEY, LISTING)
    await store.close()


async def test_it_has_three_connections_and_leaves_none(database: str, tmp_path: Path):
    store = PostgresStore(database, tmp_path)
    await store.keep_listing(KEY, LISTING)
    await store.levels.register("one", 1.0)
    await store.levels.poll("one", Position())
    store.levels.ring()
    assert len(execute(database, OURS)) == 3
    await store.close()
    await until(lambda: execute(database, OURS) == [])


async def test_tables_that_are_gone_are_an_error(database: str, tmp_path: Path):
    store = PostgresStore(database, tmp_path)
    await store.open()
    execute(database, "DROP TABLE bascule.listings")
    with pytest.raises(StoreError, match="cannot be used") as caught:
        await store.listing(KEY)
    assert "42P01" in caught.value.evidence
    await store.close()


async def test_a_listing_that_cannot_be_read_is_an_error(database: str, tmp_path: Path):
    store = PostgresStore(database, tmp_path)
    await store.keep_listing(KEY, LISTING)
    execute(database, "UPDATE bascule.listings SET tools = 'nonsense'")
    with pytest.raises(StoreError, match="cannot be used"):
        await store.listing(KEY)
    await store.close()


async def test_nobody_who_may_not_come_in_comes_in(postgres: PostgresServer, database: str, tmp_path: Path):
    name = database.rpartition("/")[2]
    postgres.run("postgres", "CREATE ROLE stranger LOGIN")
    postgres.run("postgres", f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
    store = PostgresStore(database.replace("bascule@", "stranger:hunter2@"), tmp_path)
    with pytest.raises(StoreError, match=f"{name} on ") as caught:
        await store.open()
    assert "permission denied" in caught.value.evidence
    assert "hunter2" not in f"{caught.value} {caught.value.evidence} {caught.value.__cause__!r}"
    await store.close()
