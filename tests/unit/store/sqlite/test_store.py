"""SQLite store and its anchors; the contracts test the behaviour that all engines share."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store import deadline
from bascule.store.audit.anchors import Anchor, AnchorStore
from bascule.store.deadline import StoreWait
from bascule.store.interface import KeptListing, ListingKey
from bascule.store.sqlite import store as sqlite_module
from bascule.store.sqlite.store import SCHEMA_VERSION, SqliteStore
from support.waiting import fail_after

KEY = ListingKey("/home/a/.mcp.json", "open", "files")
LISTING = KeptListing("sha256:whole", {"read": "sha256:1", "write": "sha256:2"})


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


async def test_a_file_of_the_first_version_keeps_its_listings_and_learns_levels(tmp_path: Path):
    path = tmp_path / "bascule.db"
    with sqlite3.connect(path) as first:
        for statement in sqlite_module._LISTINGS.split(";"):
            first.execute(statement)
        first.execute("INSERT INTO listings VALUES (?, ?, ?, ?)", (KEY.home, KEY.sandbox, KEY.server, LISTING.digest))
        first.execute("PRAGMA user_version = 1")
    first.close()
    store = SqliteStore(path)

    assert await store.listing(KEY) == KeptListing(LISTING.digest, {})
    assert (await store.levels.begin(Principal("alice", "s-1"), 1.0)).level is DataSensitivity.PUBLIC
    await store.close()
    with sqlite3.connect(path) as now:
        assert now.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    now.close()


async def test_only_who_asks_for_a_level_makes_a_key_and_a_journal(tmp_path: Path):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.keep_listing(KEY, LISTING)
    await store.close()
    assert {path.name for path in tmp_path.iterdir()} == {"bascule.db"}


async def test_a_name_in_the_file_that_is_no_text_is_an_error_like_any_other(tmp_path: Path):
    path = tmp_path / "bascule.db"
    store = SqliteStore(path)
    await store.open()
    await store.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE listings (", b"CREATE TABLE list\x80ngs ("))
    with pytest.raises(StoreError, match="cannot be used"):
        await SqliteStore(path).listing(KEY)


@pytest.mark.parametrize(("code", "passes"), [(sqlite3.SQLITE_BUSY, True), (sqlite3.SQLITE_CANTOPEN, False)])
async def test_who_is_in_the_way_while_a_database_is_opened_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, passes: bool
):
    opened, tried = sqlite_module._opened, list[Path]()

    def in_the_way(path: Path, deadline: float) -> sqlite3.Connection:
        tried.append(path)
        if len(tried) == 1:
            error = sqlite3.OperationalError("in the way")
            error.sqlite_errorcode = code
            raise error
        return opened(path, deadline)

    (tmp_path / "bascule.db").touch()  # a file that was not there is opened twice
    monkeypatch.setattr(sqlite_module, "_opened", in_the_way)
    store = SqliteStore(tmp_path / "bascule.db", tmp_path)
    if passes:
        await store.open()
    else:
        with pytest.raises(StoreError, match="in the way"):
            await store.open()
    await store.close()
    assert len(tried) == 1 + passes


ANCHOR = Anchor("w-0001", 7, "ab" * 32, 5.0)


async def test_a_database_from_before_there_were_anchors_gets_their_table(tmp_path: Path):
    path = tmp_path / "bascule.db"
    store = SqliteStore(path)
    await store.open()
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE anchors")
        db.execute("DROP TABLE about")
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


async def test_a_locked_database_is_waited_for_until_one_deadline_for_all_operations_of_a_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "bascule.db"
    store, given = SqliteStore(path), list[float]()
    await store.open()
    wait_until = sqlite_module.wait_until

    def noted(db: sqlite3.Connection, until: float) -> None:
        wait_until(db, until)
        ((milliseconds,),) = db.execute("PRAGMA busy_timeout").fetchall()
        given.append(milliseconds)

    monkeypatch.setattr(sqlite_module, "wait_until", noted)
    with monkeypatch.context() as short, closing(sqlite3.connect(path, isolation_level=None)) as other:
        short.setattr(deadline, "LONGEST", 0.4)
        other.execute("BEGIN IMMEDIATE")
        wait = StoreWait()
        async with fail_after(20, "the deadline"):
            for _ in range(2):
                with wait.shared(), pytest.raises(StoreError, match="locked") as caught:
                    await store.keep_listing(KEY, LISTING)
                assert "locked by another program" in caught.value.cause
    first, second = given
    assert 0 < first <= 400
    assert second == 0

    await store.keep_listing(KEY, LISTING)
    assert 0 < given[-1] <= 1000 * deadline.LONGEST
    await store.close()


async def test_waiting_for_the_turn_ends_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = SqliteStore(tmp_path / "bascule.db")
    await store.open()
    with store._turn, monkeypatch.context() as short:
        short.setattr(deadline, "LONGEST", 0.2)
        waiting = asyncio.ensure_future(store.listing(KEY))
        async with fail_after(20, "the deadline"):
            await asyncio.wait((waiting,))
    with pytest.raises(StoreError, match="did not answer"):
        await waiting
    assert await store.listing(KEY) is None
    await store.close()


async def test_opening_is_not_tried_again_after_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, tried, opened = tmp_path / "bascule.db", list[Path](), sqlite_module._opened

    def counted(path: Path, until: float) -> sqlite3.Connection:
        tried.append(path)
        return opened(path, until)

    monkeypatch.setattr(sqlite_module, "_opened", counted)
    monkeypatch.setattr(deadline, "LONGEST", 0.3)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            await SqliteStore(path).open()

    assert 1 <= len(tried) <= 4


def put_in_place(backup: Path, path: Path) -> None:
    """Restores a backup as an operator does who moves the files of the damaged database away."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    backup.replace(path)


async def test_a_backup_that_is_put_in_place_of_the_file_is_opened(tmp_path: Path):
    path, backup = tmp_path / "bascule.db", tmp_path / "backup.db"
    store, other = SqliteStore(path), SqliteStore(path)
    await store.keep_listing(KEY, LISTING)
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(backup)) as copy:
        now.backup(copy)
    await store.keep_listing(KEY, KeptListing("sha256:newer", {}))
    assert await other.listing(KEY) == KeptListing("sha256:newer", {})

    put_in_place(backup, path)
    assert await other.listing(KEY) == LISTING
    await store.keep_listing(KEY, KeptListing("sha256:other", {}))
    assert await other.listing(KEY) == KeptListing("sha256:other", {})
    await store.close()
    await other.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT digest FROM listings").fetchall() == [("sha256:other",)]


async def test_a_file_that_is_gone_is_made_again_for_all(tmp_path: Path):
    path = tmp_path / "bascule.db"
    store, other = SqliteStore(path), SqliteStore(path)
    for each in (store, other):
        await each.keep_listing(KEY, LISTING)
    for file in tmp_path.glob("bascule.db*"):
        file.unlink()

    assert await store.listing(KEY) is None
    await store.keep_listing(KEY, LISTING)
    assert await other.listing(KEY) == LISTING
    await store.close()
    await other.close()


async def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, backup = tmp_path / "bascule.db", tmp_path / "backup.db"
    for each, listing in ((path, LISTING), (backup, KeptListing("sha256:backup", {}))):
        store = SqliteStore(each)
        await store.keep_listing(KEY, listing)
        await store.close()
    opened = sqlite_module._opened

    def replaced(path: Path, deadline: float) -> sqlite3.Connection:
        connection = opened(path, deadline)
        if backup.exists():
            put_in_place(backup, path)
        return connection

    monkeypatch.setattr(sqlite_module, "_opened", replaced)
    store = SqliteStore(path)
    assert await store.listing(KEY) == KeptListing("sha256:backup", {})
    await store.close()


async def test_a_file_that_is_replaced_again_and_again_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, backup = tmp_path / "bascule.db", tmp_path / "backup.db"
    opened = sqlite_module._opened

    def replaced(path: Path, deadline: float) -> sqlite3.Connection:
        connection = opened(path, deadline)
        backup.touch()
        put_in_place(backup, path)
        return connection

    monkeypatch.setattr(sqlite_module, "_opened", replaced)
    with pytest.raises(StoreError, match="replaced again and again"):
        await SqliteStore(path).open()
