"""A change of a level is killed at any line between the store's commit and the level mark beside the files, and the
reverse."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bascule import Runtime
from bascule.config import RuntimeConfig
from bascule.core.sensitivity import DataSensitivity
from bascule.store.open import store_at
from chaos.mark_crasher import ALICE
from support.marked import remove_database

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
HERE = Path(__file__).parent

LONGEST = 600
"""Seconds for a program of many processes on a busy machine."""


@contextmanager
def program(*arguments: object) -> Generator["subprocess.Popen[str]"]:
    """In a group of its own, so that nothing of it is left however the test ends."""
    command = [sys.executable, str(HERE / "mark_crasher.py"), *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as started:
        try:
            yield started
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Runtime]:
    """A runtime on a state folder, with the workspaces in it."""

    def made(folder: Path) -> Runtime:
        monkeypatch.setenv("BASCULE_HOME", str(folder))
        return Runtime(RuntimeConfig({}, workspace_root=str(folder / "workspaces")))

    return made


async def level_in(runtime: Runtime) -> DataSensitivity:
    async with runtime:
        session = runtime.session(ALICE.user_id, ALICE.session_id)
        await session.begin()
        return session.sensitivity


SCENARIOS = {"raise": (INTERNAL, CONFIDENTIAL), "declassify": (SECRET, PUBLIC)}
"""By name, the level before the change and after it."""


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_change_killed_at_any_line_is_never_lower_than_promised(
    scenario: str, tmp_path: Path, scale: int, tell: Callable[[str], None], at: Callable[[Path], Runtime]
):
    old, new = SCENARIOS[scenario]
    template, place = tmp_path / "template", tmp_path / "killed"
    template.mkdir(mode=0o700)
    place.mkdir()
    async with at(template) as runtime:
        session = runtime.session(ALICE.user_id, ALICE.session_id)
        session.workspace.write_text("notes.md", "private")
        await session.add_private_dataset("payroll", old)
    with program(scenario, template, place, 5 if scale > 1 else 17) as crasher:
        output, _ = crasher.communicate(timeout=LONGEST)
    assert crasher.returncode == 0, output

    folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: int(path.name))
    returned = [folder for folder in folders if folder.with_suffix(".returned").exists()]
    assert returned == folders[-1:]
    kept: list[DataSensitivity] = []
    lost: list[DataSensitivity] = []
    for folder in folders:
        kept.append(await level_in(at(folder)))
        store = store_at(None, folder)
        assert [record.doubt for record in await store.levels.sessions()] == [""]
        await store.close()
    for folder in folders:
        # The mark alone: it was as the change left it, or as the next start has written it.
        remove_database(folder)
        lost.append(await level_in(at(folder)))
    tell(f"{scenario}: killed at {len(folders) - 1} lines, made at {kept.count(new)}")

    assert len(folders) > 20
    assert set(kept) == {old, new}
    assert kept[-1] == new
    assert kept == sorted(kept, key=lambda level: level == new)
    assert all(mark >= level for mark, level in zip(lost, kept, strict=True))


@pytest.mark.long
async def test_a_mark_alone_is_never_lower_than_a_raise_that_returned(
    tmp_path: Path, scale: int, at: Callable[[Path], Runtime]
):
    """The store is lost in the moment of the kill."""
    template, place = tmp_path / "template", tmp_path / "killed"
    template.mkdir(mode=0o700)
    place.mkdir()
    async with at(template) as runtime:
        session = runtime.session(ALICE.user_id, ALICE.session_id)
        session.workspace.write_text("notes.md", "private")
        await session.add_private_dataset("payroll", INTERNAL)
    with program("raise", template, place, 5 if scale > 1 else 17) as crasher:
        output, _ = crasher.communicate(timeout=LONGEST)
    assert crasher.returncode == 0, output

    for folder in (path for path in place.iterdir() if path.is_dir()):
        remove_database(folder)
        level = await level_in(at(folder))
        assert level in ((CONFIDENTIAL,) if folder.with_suffix(".returned").exists() else (INTERNAL, CONFIDENTIAL))
