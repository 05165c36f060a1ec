"""Levels whose writers are killed: at any line of a change, and by the dozen while others write and look."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord
from bascule.store.open import store_at
from bascule.store.sqlite.store import SqliteStore

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
HERE = Path(__file__).parent
ALICE = Principal("alice", "s-1")
LABEL = Cause("label")

LONGEST = 300
"""Seconds for a program of many processes on a busy machine."""


@contextmanager
def program(name: str, *arguments: object) -> Generator[subprocess.Popen[str]]:
    """In a group of its own, so that nothing of it is left however the test ends."""
    command = [sys.executable, str(HERE / name), *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as started:
        try:
            yield started
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


async def record_in(folder: Path) -> SessionRecord:
    store = SqliteStore(folder / "bascule.db")
    try:
        (listed,) = await store.levels.sessions() or (None,)
        record = await store.levels.begin(ALICE, 9.0)
        assert listed is None or (listed.level, listed.doubt) == (record.level, record.doubt)
        assert await store.levels.begin(ALICE, 9.0) == record
        return record
    finally:
        await store.close()


async def prepared(folder: Path, level: DataSensitivity | None) -> Path:
    """A store in which Alice has this level, after some others; or none at all."""
    folder.mkdir(mode=0o700)
    if level is not None:
        store = SqliteStore(folder / "bascule.db")
        for _ in range(4):
            await store.levels.raise_level(ALICE, SECRET, LABEL, 1.0)
            await store.levels.lower_level(ALICE, PUBLIC, Cause("operator"), 1.0)
        await store.levels.raise_level(ALICE, level, LABEL, 1.0)
        await store.close()
    return folder


SCENARIOS = {
    "begin": (None, (PUBLIC, False), (PUBLIC, False)),
    "raise": (INTERNAL, (INTERNAL, False), (CONFIDENTIAL, False)),
    "raise in a journal that is tidied": (INTERNAL, (INTERNAL, False), (CONFIDENTIAL, False)),
    "lower": (SECRET, (SECRET, False), (PUBLIC, False)),
    "end": (SECRET, (SECRET, False), (SECRET, True)),
}
"""By name, what there is before the change, and whether it is ended; then both after it."""


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_change_killed_at_any_line_is_made_or_is_not(
    scenario: str, tmp_path: Path, scale: int, tell: Callable[[str], None]
):
    before, old, new = SCENARIOS[scenario]
    template, place = await prepared(tmp_path / "template", before), tmp_path / "killed"
    place.mkdir()
    stride = 1 if scale > 1 else 3
    with program("level_crasher.py", scenario, template, place, stride) as crasher:
        output, _ = crasher.communicate(timeout=LONGEST)
    assert crasher.returncode == 0, output

    folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: int(path.name))
    made = {folder: await record_in(folder) for folder in folders}
    ends = {folder: (record.level, record.ended) for folder, record in made.items()}
    returned = [folder for folder in folders if folder.with_suffix(".returned").exists()]
    tell(f"{scenario}: killed at {len(folders) - 1} lines, made at {list(ends.values()).count(new)}")

    assert len(folders) > 40
    assert scenario.endswith("tidied") == (lines_of_journal(returned[0]) < lines_of_journal(template))
    assert [folder.name for folder, record in made.items() if record.doubt] == []
    assert [folder.name for folder, end in ends.items() if end not in (old, new)] == []
    assert returned == folders[-1:]
    assert ends[returned[0]] == new
    if old != new:
        # Once it is made it stays made, whatever comes after the line.
        assert set(ends.values()) == {old, new}
        assert list(ends.values()) == sorted(ends.values(), key=lambda end: end == new)


@pytest.mark.long
async def test_levels_never_fall_while_their_writers_are_killed(
    store_address: str | None, tmp_path: Path, scale: int, seed: int, tell: Callable[[str], None]
):
    # Half of the writers get to the end: a thousand raises, and those of the others.
    writers, raises = (50, 40) if scale > 1 else (10, 20)
    folder = await prepared(tmp_path / "state", None)
    address = () if store_address is None else (store_address,)
    with program("level_writers.py", folder, writers, raises, seed, *address) as driver:
        output, _ = driver.communicate(timeout=LONGEST)
    assert driver.returncode == 0, f"seed {seed}: {output}"
    seen = "".join(path.read_text() for path in folder.glob("seen-*"))
    asked, got = lines(folder, "asked-*"), lines(folder, "got-*")
    tell(f"{len(asked)} raises asked for, {len(got)} answered, {seen.count('looked')} looks, {output.strip()}")

    assert "fell" not in seen, f"seed {seed}"
    assert seen.count("looked") > 3
    assert len(got) >= writers * raises // 2
    assert len(asked) > writers * raises // 2  # and those who were killed had asked for something
    assert int(re.findall(r"killed (\d+)", output)[0]) > 0
    store = store_at(store_address, folder)
    try:
        records = {record.principal.session_id: record for record in await store.levels.sessions()}
        for name, level, dataset in got:
            assert records[name].level >= level, f"seed {seed}"
            assert records[name].datasets[dataset] == level, f"seed {seed}"
        for name, record in records.items():
            assert record.level in {level for who, level, _ in asked if who == name}, f"seed {seed}"
            assert await store.levels.begin(record.principal, 9.0) == record
    finally:
        await store.close()


def lines_of_journal(folder: Path) -> int:
    journal = folder / "bascule.db-raises"
    return len(journal.read_bytes().split()) if journal.exists() else 0


def lines(folder: Path, names: str) -> list[tuple[str, DataSensitivity, str]]:
    found = [line.split() for path in folder.glob(names) for line in path.read_text().splitlines()]
    return [(f"s-{who}", DataSensitivity(int(level)), dataset) for who, level, dataset in found]
