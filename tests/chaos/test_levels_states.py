"""Levels after damage to each part of what is kept of an agent session, alone and in pairs, as the command and a runtime
read them: the level is as it was, or SECRET with a reason, or refused."""

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bascule import Runtime
from bascule.cli.commands import sessions
from bascule.cli.parser.command_table import build_parser
from bascule.config import RuntimeConfig
from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore
from bascule.store.levels.signed_statement import Line, read_line, seal
from bascule.store.open import store_at
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import level_key
from support.level_damage import Damage, Engine, Entry, Kept, PostgresTables, SqliteFiles, Surroundings, damaged
from support.postgres import PostgresServer
from support.waiting import fail_after

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
OPERATOR = Cause("operator", reason="a mistake")

TRUE = {"alice": CONFIDENTIAL, "dan": CONFIDENTIAL, "bob": INTERNAL, "carol": PUBLIC}
HARMED = ("alice", "dan")
"""Alice has datasets and chained lines. Dan has no datasets, and lines of version 0.1.0 but for the last one. Genuine
content is taken from Bob. Carol is untouched."""

LONGEST = 60
"""Seconds for one state. The store gives up after 15."""

HARMS = {
    "row": ("lost", "emptied", "older", "swapped"),
    "last line": ("lost", "emptied", "older", "added again", "swapped"),
    "middle line": ("lost", "emptied", "older", "added again", "swapped"),
    "all lines": ("lost", "emptied", "older", "added again", "swapped"),
    "receipts": ("lost", "emptied", "older", "added again", "swapped"),
    "datasets": ("lost", "emptied", "older", "added again", "swapped"),
    "journal file": ("lost", "emptied", "older", "added again", "swapped"),
}
"""What can be done to each part. A row has a key: there is only one of an agent session. The journal is a file in SQLite
alone."""

PARTS = {"sqlite": tuple(HARMS), "postgres": tuple(part for part in HARMS if part != "journal file")}

ALONE = {engine: [Damage(part, harm) for part in parts for harm in HARMS[part]] for engine, parts in PARTS.items()}


def states(engine: str, first: Damage) -> list[tuple[Damage, ...]]:
    """This damage alone, and with each one of the parts after it. Datasets decide no level: with another part, they are
    lost or nothing."""
    parts = PARTS[engine]
    later = parts[parts.index(first.part) + 1 :]
    seconds = [second for second in ALONE[engine] if second.part in later]
    return [(first,), *((first, second) for second in seconds if second.part != "datasets" or second.harm == "lost")]


@dataclass(frozen=True)
class Scene:
    """A store whose content is known, in a folder that is copied for each state."""

    engine: Engine
    store: str | None
    whole: Path
    kept: Kept
    around: Surroundings

    def damage(self, state: tuple[Damage, ...], home: Path) -> None:
        """A state folder in which the store is damaged."""
        shutil.copytree(self.whole, home)
        kept = self.kept
        for damage in state:
            for user in HARMED:
                kept = damaged(kept, damage, user, self.around)
        assert kept != self.kept
        self.engine.write(home, kept)


async def begin_all(levels: LevelStore) -> None:
    alice, dan, bob, carol = (Principal(user, "s-1") for user in TRUE)
    await levels.begin(alice, 1.0)
    await levels.raise_level(alice, INTERNAL, Cause("dataset", dataset="notes"), 2.0)
    await levels.raise_level(alice, SECRET, Cause("label"), 3.0)
    await levels.lower_level(alice, PUBLIC, OPERATOR, 4.0)
    await levels.begin(dan, 5.0)
    await levels.raise_level(dan, SECRET, Cause("label"), 5.0)
    await levels.lower_level(dan, PUBLIC, OPERATOR, 5.0)
    await levels.begin(bob, 5.0)
    await levels.raise_level(bob, SECRET, Cause("dataset", dataset="letters"), 6.0)
    await levels.lower_level(bob, INTERNAL, OPERATOR, 7.0)
    await levels.begin(carol, 8.0)


async def raise_again(levels: LevelStore) -> None:
    await levels.raise_level(Principal("alice", "s-1"), CONFIDENTIAL, Cause("dataset", dataset="payroll"), 9.0)
    await levels.raise_level(Principal("dan", "s-1"), CONFIDENTIAL, Cause("label"), 9.0)


async def after(change: Callable[[LevelStore], Awaitable[None]], engine: Engine, store: str | None, home: Path) -> Kept:
    """The content of the store after a change."""
    opened = store_at(store, home)
    await opened.open()
    await change(opened.levels)
    await opened.close()
    return engine.read(home)


def of_version_0_1_0(kept: Kept, user: str, key: bytes) -> Kept:
    """The same with the lines of this user as version 0.1.0 wrote them: bare statements."""

    def bare(entry: Entry) -> Entry:
        line = read_line(entry.content, key)
        assert isinstance(line, Line)
        return replace(entry, content=seal(line.statement, key))

    return tuple(bare(entry) if entry.table == "line" and entry.user == user else entry for entry in kept)


async def made(engine: Engine, store: str | None, folder: Path) -> Scene:
    home, elsewhere = folder / "whole", folder / "stranger"
    older = of_version_0_1_0(await after(begin_all, engine, store, home), "dan", level_key(KeyFiles(home / "keys")))
    engine.write(home, older)
    kept = await after(raise_again, engine, store, home)
    shutil.copytree(home / "keys", elsewhere / "keys")
    stranger = await after(raise_again, SqliteFiles(), None, elsewhere)
    return Scene(engine, store, home, kept, Surroundings(older, "bob", stranger))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """In memory where there is such a place: hundreds of times, a test would wait for a disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def sqlite_scene(folder: Path) -> Scene:
    return asyncio.run(made(SqliteFiles(), None, folder / "sqlite"))


@pytest.fixture(scope="module")
def postgres_scene(folder: Path, postgres: PostgresServer) -> Iterator[Scene]:
    address = postgres.database()
    yield asyncio.run(made(PostgresTables(address), address, folder / "postgres"))
    postgres.take_back(address)


@pytest.fixture
def scene(request: pytest.FixtureRequest, engine: str) -> Scene:
    return request.getfixturevalue(f"{engine}_scene")


Levels = dict[str, tuple[DataSensitivity, str]]
"""By user, the level and the doubt."""


async def listed(config: Path, capsys: pytest.CaptureFixture[str]) -> Levels | None:
    """Levels by `bascule sessions --json`; None if it refuses."""
    options = build_parser().parse_args(["sessions", "--json", "--config", str(config)])
    capsys.readouterr()
    try:
        assert await sessions.run(options) == 0
    except StoreError:
        return None
    shown = json.loads(capsys.readouterr().out)["sessions"]
    return {each["user"]: (DataSensitivity[each["level"].upper()], each["doubt"]) for each in shown}


async def begun(store: str | None) -> Levels | None:
    """Levels in a runtime, the lower one of before and after a raise of Dan's; None if it refuses."""
    found: Levels = {}
    try:
        async with Runtime(RuntimeConfig({}, store=store)) as runtime:
            for user in TRUE:
                session = runtime.session(user, "s-1")
                await session.begin()
                found[user] = (session.sensitivity, "a runtime gives no reason")
            session = runtime.session("dan", "s-1")
            await session.add_private_dataset("more", INTERNAL)
            found["dan"] = (min(found["dan"][0], session.sensitivity), found["dan"][1])
    except StoreError:
        return None
    return found


def lower(found: Levels, harmed: set[str]) -> Iterator[str]:
    for user, true in TRUE.items():
        level, doubt = found.get(user, (None, ""))
        doubted = level is SECRET and bool(doubt) and user in harmed
        if level is not true and not doubted:
            yield f"{user} is {level.name if level is not None else 'gone'}, and was {true.name}"


def harmed_by(state: tuple[Damage, ...]) -> set[str]:
    if any(damage.part == "journal file" for damage in state):
        return set(TRUE)
    return {*HARMED, "bob"} if any(damage.harm == "swapped" for damage in state) else {*HARMED}


@pytest.mark.parametrize(
    ("engine", "first"),
    [pytest.param(engine, first, id=f"{engine}-{first}") for engine, found in ALONE.items() for first in found],
)
async def test_no_damage_of_what_is_kept_lowers_a_level(
    scene: Scene,
    engine: str,
    first: Damage,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    wrong: dict[str, list[str]] = {}
    for state in states(engine, first):
        name = ", ".join(map(str, state))
        home = folder / name
        scene.damage(state, home)
        config = home / "bascule.yaml"
        config.write_text(json.dumps({"mcp_servers": {}, **({"store": scene.store} if scene.store else {})}))
        monkeypatch.setenv("BASCULE_HOME", str(home))
        async with fail_after(LONGEST, name):
            found = [await listed(config, capsys), await begun(scene.store), await listed(config, capsys)]
        if lies := list(chain.from_iterable(lower(each, harmed_by(state)) for each in found if each is not None)):
            wrong[name] = lies
        shutil.rmtree(home)
    assert not wrong, "\n".join(f"{name}: {'; '.join(dict.fromkeys(lies))}" for name, lies in wrong.items())
