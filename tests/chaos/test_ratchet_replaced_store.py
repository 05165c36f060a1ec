"""Raises in one runtime against calls in another one, after the database was replaced by an older copy, or its table of
runtimes was damaged: once a raise has returned, the other runtime hands nothing over to the open lane."""

import asyncio
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bascule.core.errors import BasculeError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.runtime import Runtime
from bascule.sensitivity.lease import since_boot
from bascule.store.levels.position import Position
from bascule.store.levels.registration import row_of
from bascule.store.open import FILE, store_at
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keys import level_key
from support.level_stores import Statements, statements_at
from support.light_servers import light_http
from support.postgres import PostgresServer, installed, made_server
from support.racing import CALLERS, TOOL, Lanes, calls_of, end_of, marker, raced, watched
from support.waiting import fail_after, until

SECRET = DataSensitivity.SECRET

ATTEMPTS = 300
"""Calls that each caller makes after the raise, unless one is denied before."""

ROUNDS = 3
"""Raises, each after damage of its own. Ten times as many in `make soak`."""

LATER, LATER_BY_FAR = 2, 40
"""Changes that the older copy does not have. The raise after it is given one of their numbers again. A server that was
promoted goes on with a number that is up to 33 higher."""


@dataclass
class Pair:
    """Two runtimes on one store: one raises, the other calls."""

    raiser: Runtime
    caller: Runtime
    lanes: Lanes
    seed: int

    async def race(self, name: str, damage: Callable[[], Awaitable[None]], *, quiet: bool = False) -> Counter[str]:
        """Calls for an agent session; the damage; and then a raise. Whether that returns or is refused, the calls end.
        Returns how they have ended. `quiet`: the calling runtime polls only when its lease has run out, and so not
        between the damage and the raise."""
        session, over = self.caller.session("alice", name), asyncio.Event()
        await session.connect()
        calls = [asyncio.create_task(self._calls(name, over, place)) for place in range(CALLERS)]
        await until(lambda: self.lanes.times(name) >= CALLERS)
        if quiet:
            assert self.caller._raising is not None
            tending = self.caller._raising.fence._tending
            assert tending is not None
            tending.cancel()
        await damage()
        returned = await self._raise(name)
        over.set()
        async with fail_after(90, "the end of the calls"):
            ends = sum(await asyncio.gather(*calls), Counter[str]())
        late = [each.at - returned for each in self.lanes.of(name) if each.at > returned]
        assert late == [], f"seed {self.seed}: {ends}"
        return ends

    async def _raise(self, name: str) -> float:
        """The time at which the raise returned. Never, where it was refused: its outcome is withheld then."""
        try:
            await self.raiser.session("alice", name).add_private_dataset("salaries", SECRET)
        except BasculeError:
            return float("inf")
        return since_boot()

    async def _calls(self, name: str, over: asyncio.Event, place: int) -> Counter[str]:
        session, chance = self.caller.session("alice", name), random.Random(self.seed + place)
        ends, after = Counter[str](), 0
        while after < ATTEMPTS:
            after += over.is_set()
            end = end_of(await session.call(TOOL, {"message": marker(name)}))
            ends[end] += 1
            if end == "BSC-300":
                break
            await asyncio.sleep(chance.random() * 0.003)
        return ends


@asynccontextmanager
async def a_pair(store: str | None, seed: int) -> AsyncGenerator[Pair]:
    async with fail_after(600, "the races"), light_http() as transport:
        config = raced(transport, store=store)
        with watched(transport) as lanes:
            async with Runtime(config) as raiser, Runtime(config) as caller:
                yield Pair(raiser, caller, lanes, seed)


@pytest.fixture
def home() -> Path:
    return Path(os.environ["BASCULE_HOME"])


async def some_changes(runtime: Runtime, name: str, count: int = LATER) -> None:
    for number in range(count):
        await runtime.session("bob", f"{name}-{number}").add_private_dataset("salaries", SECRET)


# Rows of runtimes


@pytest.fixture
def statements(store_address: str | None, home: Path) -> Statements:
    return statements_at(store_address, home)


def ahead(statements: Statements, home: Path) -> None:
    """The row of each runtime acknowledges a receipt that no change has had yet, as rows of a newer state would."""
    key = level_key(KeyFiles(home / FOLDER))
    for (runtime,) in statements("SELECT id FROM bascule.runtimes"):
        row = row_of(runtime, Position(1000, "0" * 16), key)
        statements("UPDATE bascule.runtimes SET sealed = %s WHERE id = %s", row, runtime)


def swapped(statements: Statements, home: Path) -> None:
    rows = statements("SELECT id, sealed FROM bascule.runtimes")
    for (runtime, _), (_, sealed) in zip(rows, (*rows[1:], rows[0]), strict=True):
        statements("UPDATE bascule.runtimes SET sealed = %s WHERE id = %s", sealed, runtime)


def gone(statements: Statements, home: Path) -> None:
    statements("DELETE FROM bascule.runtimes")


@pytest.mark.long
@pytest.mark.parametrize("damage", [gone, ahead, swapped])
async def test_damaged_rows_of_runtimes_let_no_call_through(
    damage: Callable[[Statements, Path], None],
    store_address: str | None,
    statements: Statements,
    home: Path,
    seed: int,
    scale: int,
):
    async def damaged() -> None:
        damage(statements, home)

    async with a_pair(store_address, seed) as pair:
        for number in range(ROUNDS * scale):
            ends = await pair.race(f"s-{number}", damaged)
            assert ends["BSC-300"] == CALLERS, ends


# Older copies of an SQLite file


def copied(path: Path, copy: Path) -> None:
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(copy)) as then:
        now.backup(then)


def put_in_place(copy: Path, path: Path) -> None:
    """A restored backup, as another file."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    copy.replace(path)


def write_over(copy: Path, path: Path) -> None:
    """A restored backup, written into the file that the runtimes have open."""
    shutil.copyfile(copy, path)


def restored(copy: Path, path: Path) -> None:
    """A restored backup, by SQLite's own means."""
    copied(copy, path)


@pytest.mark.long
@pytest.mark.parametrize("journal", [False, True], ids=["file", "file and journal"])
@pytest.mark.parametrize("restore", [put_in_place, write_over, restored])
@pytest.mark.parametrize("running", [False, True], ids=["copied before", "copied while both run"])
async def test_an_older_copy_of_the_file_lets_no_call_through(
    restore: Callable[[Path, Path], None], running: bool, journal: bool, home: Path, seed: int, scale: int
):
    path, copy, lines = home / FILE, home / "copy", home / "lines"
    begun = store_at(None, home)
    await begun.levels.raise_level(Principal("carol", "s-1"), SECRET, Cause("test"), 1.0)
    await begun.close()
    for number in range(ROUNDS * scale):
        if not running:
            copied(path, copy)
            shutil.copy(f"{path}-raises", lines)
        async with a_pair(None, seed) as pair:
            if running:
                copied(path, copy)
                shutil.copy(f"{path}-raises", lines)
            await some_changes(pair.raiser, f"later-{number}")

            async def damaged() -> None:
                restore(copy, path)
                if journal:
                    lines.replace(f"{path}-raises")

            await pair.race(f"s-{number}", damaged)


@pytest.mark.long
async def test_a_runtime_follows_one_that_has_started_on_an_older_copy_of_the_file(home: Path, seed: int):
    path, copy, chance = home / FILE, home / "copy", random.Random(seed)
    await store_at(None, home).open()
    copied(path, copy)
    async with a_pair(None, seed) as pair:
        session = pair.caller.session("alice", "s-1")
        await session.connect()
        calls = [asyncio.create_task(calls_of(session, chance)) for _ in range(CALLERS)]
        await until(lambda: pair.lanes.times("s-1") >= CALLERS)
        put_in_place(copy, path)
        async with Runtime(pair.caller.config) as raiser:
            await raiser.session("alice", "s-1").add_private_dataset("salaries", SECRET)
            async with fail_after(30, "the end of the calls"):
                ends = sum(await asyncio.gather(*calls), Counter[str]())
    assert ends["BSC-300"] == CALLERS, ends


# Older copies of a PostgreSQL server


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server whose data the test may replace."""
    if not installed():
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    server = made_server()
    with server.guarded():
        yield server


QUIET = pytest.mark.parametrize("quiet", [False, True], ids=["with polls", "without polls"])


@pytest.mark.long
@QUIET
async def test_a_restored_backup_of_the_server_lets_no_call_through(
    server: PostgresServer, quiet: bool, seed: int, scale: int
):
    address = server.database()
    for number in range(scale):
        async with a_pair(address, seed) as pair:
            await some_changes(pair.caller, f"before-{number}")
            backup = server.back_up()
            await some_changes(pair.raiser, f"later-{number}")

            restore = partial(server.restore, backup)
            await pair.race(f"s-{number}", partial(asyncio.to_thread, restore), quiet=quiet)


@pytest.mark.long
@pytest.mark.parametrize("running", [False, True], ids=["cut off before", "cut off while both run"])
@QUIET
async def test_a_replica_that_lags_and_is_promoted_lets_no_call_through(
    server: PostgresServer, running: bool, quiet: bool, seed: int
):
    name = server.database().rpartition("/")[2]
    replica = server.replica()
    with replica.guarded():
        address = server.address(name, replica)
        begun = store_at(address, Path(os.environ["BASCULE_HOME"]))
        await begun.levels.raise_level(Principal("carol", "s-1"), SECRET, Cause("test"), 1.0)
        await begun.close()

        async def cut_off() -> None:
            written = server.written()
            await until(lambda: replica.has_replayed(written))
            replica.follow_no_more()
            await until(lambda: not replica.follows)

        async def promoted() -> None:
            await asyncio.to_thread(server.stop, "immediate")
            await asyncio.to_thread(replica.promote)

        if not running:
            await cut_off()
        try:
            async with a_pair(address, seed) as pair:
                if running:
                    await cut_off()
                await some_changes(pair.raiser, "later", LATER_BY_FAR)
                await pair.race("s-1", promoted, quiet=quiet)
        finally:
            server.start()
