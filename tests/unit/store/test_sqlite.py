"""The SQLite engine of the store."""

import sqlite3
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.interface import KeptListing, ListingKey
from bascule.store.sqlite import SqliteStore

KEY = ListingKey("/home/a/.mcp.json", "open", "files")
LISTING = KeptListing("sha256:whole", {"read": "sha256:1", "write": "sha256:2"})


async def test_a_listing_survives_a_restart(tmp_path: Path):
    store = SqliteStore(tmp_path / "state" / "bascule.db")
    await store.keep_listing(KEY, LISTING)
    await store.close()
    again = SqliteStore(tmp_path / "state" / "bascule.db")
    assert await again.listing(KEY) == LISTING
    await again.close()


async def test_what_was_never_kept_is_none(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db")
    assert await store.listing(KEY) is None
    await store.close()


async def test_keeping_again_replaces_all_of_it(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.keep_listing(KEY, LISTING)
    smaller = KeptListing("sha256:other", {"read": "sha256:9"})
    await store.keep_listing(KEY, smaller)
    assert await store.listing(KEY) == smaller
    await store.close()


@pytest.mark.parametrize("other", [{"home": "/b"}, {"sandbox": "sealed"}, {"server": "notes"}])
async def test_each_part_of_the_key_tells_listings_apart(tmp_path: Path, other: dict[str, str]):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.keep_listing(KEY, LISTING)
    key = {"home": KEY.home, "sandbox": KEY.sandbox, "server": KEY.server, **other}
    assert await store.listing(ListingKey(**key)) is None
    await store.close()


async def test_the_folder_is_made_for_its_owner_alone(tmp_path: Path):
    store = SqliteStore(tmp_path / "state" / "bascule.db")
    await store.open()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    await store.close()


async def test_a_damaged_file_is_an_error_and_stays_as_it_was(tmp_path: Path):
    path = tmp_path / "bascule.db"
    path.write_bytes(b"not a database, and longer than a header would be" * 100)
    store = SqliteStore(path)
    with pytest.raises(StoreError, match="cannot be used") as caught:
        await store.open()
    assert "BASCULE_HOME" in caught.value.fix
    assert path.read_bytes().startswith(b"not a database")
    await store.close()


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path):
    path = tmp_path / "bascule.db"
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StoreError, match="newer Bascule"):
        await SqliteStore(path).open()


async def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be used"):
        await SqliteStore(tmp_path / "file" / "bascule.db").open()


async def test_two_stores_on_one_new_file_both_open(tmp_path: Path):
    first, second = SqliteStore(tmp_path / "bascule.db"), SqliteStore(tmp_path / "bascule.db")
    await first.keep_listing(KEY, LISTING)
    assert await second.listing(KEY) == LISTING
    await first.close()
    await second.close()


async def test_closing_twice_is_fine(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.open()
    await store.close()
    await store.close()
