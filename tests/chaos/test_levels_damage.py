"""Levels on a disk that forgets and lies. Whatever becomes of one file, a level is the true one or SECRET: never lower, and
never that of an agent session which has just begun."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.sqlite.store import SqliteStore

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE, BOB, CAROL = Principal("alice", "s-1"), Principal("bob", "s-1"), Principal("carol", "s-1")
TRUE = {ALICE: CONFIDENTIAL, BOB: INTERNAL, CAROL: INTERNAL}
"""Alice was raised twice, the second time not yet in the main file; Bob's only raise is in the log; Carol was SECRET, and
an operator has lowered it."""

DATABASE, LOG, JOURNAL = "bascule.db", "bascule.db-wal", "bascule.db-raises"
FILES = (DATABASE, LOG, JOURNAL)

DAILY = {DATABASE: 97, LOG: 97, JOURNAL: 3}
"""In `make test`, one byte of so many. In `make soak`, every one."""


@dataclass(frozen=True)
class Disk:
    """The files as they were while a process used them, and a folder in which they can be harmed."""

    files: dict[str, bytes]
    folder: Path

    def restore(self) -> None:
        for path in self.folder.glob("bascule.db*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, data in self.files.items():
            (self.folder / name).write_bytes(data)


@pytest.fixture
def quick() -> Iterator[Path]:
    """In memory where there is such a place: thousands of times, nobody waits for a disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture
async def disk(quick: Path) -> Disk:
    source, folder = quick / "source", quick / "harmed"
    cause = Cause("label", "notes", "read", dataset="notes")
    store = SqliteStore(source / DATABASE)
    await store.levels.raise_level(ALICE, INTERNAL, cause, 1.0)
    await store.levels.raise_level(CAROL, SECRET, cause, 2.0)
    await store.close()  # which empties the log into the main file
    store = SqliteStore(source / DATABASE)
    await store.levels.raise_level(ALICE, CONFIDENTIAL, cause, 3.0)
    await store.levels.begin(BOB, 4.0)
    await store.levels.raise_level(BOB, INTERNAL, cause, 5.0)
    await store.levels.lower_level(CAROL, INTERNAL, Cause("operator"), 6.0)
    files = {name: (source / name).read_bytes() for name in FILES}
    assert all(files.values())
    folder.mkdir(mode=0o700)
    shutil.copytree(source / "keys", folder / "keys")
    await store.close()
    return Disk(files, folder)


def lie(where: str, record: SessionRecord | None, principal: Principal) -> Iterator[str]:
    if record is None:
        yield f"{where}: {principal} is gone"
    elif record.level not in (TRUE[principal], SECRET):
        yield f"{where}: {principal} is {record.level.name}, and was {TRUE[principal].name}"
    elif record.level is not TRUE[principal] and not record.doubt:
        yield f"{where}: {principal} is SECRET, and nobody says why"


async def listed(levels: LevelStore) -> dict[Principal, SessionRecord]:
    return {record.principal: record for record in await levels.sessions()}


async def lies(disk: Disk) -> list[str]:
    """What is told of the levels that is not true. An error is none: whoever gets it takes the level for SECRET."""
    found: list[str] = []
    store = SqliteStore(disk.folder / DATABASE)
    try:
        records = await listed(store.levels)
        for principal in TRUE:
            found += lie("listed", records.get(principal), principal)
            found += lie("begun", await store.levels.begin(principal, 9.0), principal)
            raised, _ = await store.levels.raise_level(principal, PUBLIC, Cause("label"), 9.0)
            found += lie("raised", raised, principal)
    except StoreError:
        pass
    finally:
        await store.close()
    # What was written meanwhile must not have made it worse for the next process.
    store = SqliteStore(disk.folder / DATABASE)
    try:
        for principal in TRUE:
            found += lie("later", await store.levels.begin(principal, 9.0), principal)
    except StoreError:
        pass
    finally:
        await store.close()
    return found


async def told(disk: Disk) -> set[str]:
    """What the agent sessions are told to be, in one word each."""
    store = SqliteStore(disk.folder / DATABASE)
    try:
        return {(await store.levels.begin(principal, 9.0)).doubt or "true" for principal in TRUE}
    except StoreError:
        return {"error"}
    finally:
        await store.close()


async def test_files_that_are_only_copied_tell_the_truth(disk: Disk):
    disk.restore()

    assert await lies(disk) == []
    assert await told(disk) == {"true"}


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
async def test_no_flipped_byte_lowers_a_level(
    disk: Disk, name: str, scale: int, seed: int, tell: Callable[[str], None]
):
    stride = DAILY[name] if scale == 1 else 1
    chance = random.Random(seed)
    places = range(seed % stride, len(disk.files[name]), stride)
    found: dict[int, list[str]] = {}
    for place in places:
        disk.restore()
        harmed = bytearray(disk.files[name])
        harmed[place] ^= chance.randrange(1, 256)
        (disk.folder / name).write_bytes(harmed)
        if wrong := await lies(disk):
            found[place] = wrong
    tell(f"{name}: {len(places)} of {len(disk.files[name])} bytes flipped, seed {seed}")
    assert not found


@pytest.mark.parametrize("name", FILES)
async def test_no_truncation_lowers_a_level(disk: Disk, name: str, scale: int, seed: int, tell: Callable[[str], None]):
    size = len(disk.files[name])
    stride = 5 * DAILY[name] if scale == 1 else DAILY[name]
    # The ends of pages and of frames are where a disk that lost its power stops.
    ends = {0, *range(4096, size, 4096), *range(32, size, 4120), size - 1}
    lengths = sorted(ends | set(range(seed % stride, size, stride)))
    found: dict[int, list[str]] = {}
    for length in lengths:
        disk.restore()
        (disk.folder / name).write_bytes(disk.files[name][:length])
        if wrong := await lies(disk):
            found[length] = wrong
    tell(f"{name}: truncated to {len(lengths)} lengths, seed {seed}")
    assert not found


@pytest.mark.parametrize("name", FILES)
async def test_no_file_that_is_gone_lowers_a_level(disk: Disk, name: str):
    disk.restore()
    (disk.folder / name).unlink()

    assert await lies(disk) == []


@pytest.mark.parametrize("name", FILES)
async def test_no_file_put_back_to_what_it_was_before_lowers_a_level(disk: Disk, name: str):
    """A copy from before the last changes: every byte of it is genuine."""
    older = {
        DATABASE: disk.files[DATABASE],  # with its log gone, below, it knows nothing of the last changes
        LOG: disk.files[LOG][: 32 + 4120],
        JOURNAL: b"\n".join(disk.files[JOURNAL].split(b"\n")[:3]) + b"\n",
    }
    disk.restore()
    (disk.folder / name).write_bytes(older[name])
    if name == DATABASE:
        (disk.folder / LOG).unlink()

    assert await lies(disk) == []


async def test_what_a_lost_log_takes_from_the_database_the_journal_still_knows(disk: Disk):
    disk.restore()
    (disk.folder / LOG).unlink()

    assert await told(disk) == {"true"}


async def test_what_a_lost_database_knew_the_journal_still_knows(disk: Disk):
    disk.restore()
    (disk.folder / DATABASE).unlink()
    (disk.folder / LOG).unlink()

    assert await told(disk) == {"true"}
    assert await lies(disk) == []


async def test_without_the_key_nothing_is_believed(disk: Disk):
    key = disk.folder / "keys" / "levels.key"
    true = key.read_bytes()
    for harmed in (None, b"", true[:-1], true[:-1] + b"?"):
        disk.restore()
        key.unlink(missing_ok=True)
        if harmed is not None:
            key.write_bytes(harmed)
            key.chmod(0o600)
        assert "true" not in await told(disk)
        assert await lies(disk) == []
    disk.restore()
    key.write_bytes(true)
    assert await told(disk) == {"true"}


async def test_what_a_person_writes_into_the_database_is_not_believed(disk: Disk):
    """Alice's row is replaced by a true one: Bob's. So are her datasets, and what is in the table is well formed."""
    disk.restore()
    with sqlite3.connect(disk.folder / DATABASE) as other:
        (bobs,) = other.execute("SELECT statement FROM sessions WHERE user_id = 'bob'").fetchone()
        other.execute("UPDATE sessions SET statement = ? WHERE user_id = 'alice'", (bobs,))
        other.execute("DELETE FROM sessions WHERE user_id = 'carol'")
    other.close()

    assert await lies(disk) == []
