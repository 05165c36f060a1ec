"""Watch of the config file: an edit counts when it is complete."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bascule.core.errors import ConfigError
from bascule.runtime import config_reload
from bascule.runtime.config_reload import Watching, look_at
from support.waiting import fail_after


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config_reload, "EVERY", 0.01)
    monkeypatch.setattr(config_reload, "SETTLING", 0.05)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bascule.yaml"
    path.write_text("one")
    return path


class Reloads:
    """Notes what the file held at each reload. A file that holds `broken` is refused."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.seen: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self) -> None:
        text = self._file.read_text() if self._file.exists() else "(gone)"
        self.seen.put_nowait(text)
        if text in {"broken", "(gone)", ""}:
            raise ConfigError(text)

    async def next(self) -> str:
        async with fail_after(20, "a reload"):
            return await self.seen.get()


@asynccontextmanager
async def watched(file: Path) -> AsyncGenerator[Reloads]:
    reloads = Reloads(file)
    task = asyncio.create_task(Watching(file, reloads).run())
    try:
        # What was loaded may be older than the first look, so that one counts as an edit.
        assert await reloads.next() == file.read_text()
        yield reloads
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def test_an_edit_is_seen(file: Path):
    async with watched(file) as reloads:
        file.write_text("two")
        assert await reloads.next() == "two"


async def test_an_edit_of_the_same_size_at_the_same_time_is_seen(file: Path):
    async with watched(file) as reloads:
        status = file.stat()
        with file.open("r+") as opened:
            opened.write("two")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert await reloads.next() == "two"


async def test_a_file_that_takes_the_place_of_another_is_seen(file: Path):
    async with watched(file) as reloads:
        fresh = file.with_suffix(".tmp")
        fresh.write_text("two")
        fresh.replace(file)
        assert await reloads.next() == "two"


async def test_variables_beside_it_count(file: Path):
    async with watched(file) as reloads:
        (file.parent / ".env").write_text("TOKEN=x")
        assert await reloads.next() == "one"
        (file.parent / ".env").unlink()
        assert await reloads.next() == "one"


async def test_a_file_written_again_as_it_was_is_no_edit(file: Path):
    async with watched(file) as reloads:
        file.write_text("one")
        await asyncio.to_thread(lambda: None)
        file.write_text("two")
        assert await reloads.next() == "two"
        assert reloads.seen.empty()


async def test_a_file_that_is_empty_or_gone_for_a_moment_is_not_read(file: Path):
    async with watched(file) as reloads:
        file.write_text("")
        await asyncio.sleep(0.1)  # two looks, and fewer than those after which it counts
        file.write_text("two")
        assert await reloads.next() == "two"
        file.unlink()
        await asyncio.sleep(0.1)
        file.write_text("three")
        assert await reloads.next() == "three"


async def test_a_file_that_stays_empty_or_gone_is_told_once(file: Path):
    async with watched(file) as reloads:
        file.unlink()
        assert await reloads.next() == "(gone)"
        file.write_text("")
        assert await reloads.next() == ""
        file.write_text("two")
        assert await reloads.next() == "two"
        assert reloads.seen.empty()


async def test_an_edit_that_was_refused_is_tried_again_when_it_is_written_again(file: Path):
    async with watched(file) as reloads:
        file.write_text("broken")
        assert await reloads.next() == "broken"
        file.write_text("broken")
        assert await reloads.next() == "broken"


def test_a_file_is_read_only_if_it_can_have_changed(file: Path):
    then = file.stat().st_mtime
    first = look_at((file,), None, then + 10)
    assert look_at((file,), first, then + 20) is first

    soon = look_at((file,), None, then + 1)
    assert look_at((file,), soon, then + 20) is not soon
    assert look_at((file,), soon, then + 20) == soon


def test_what_is_no_file_is_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")

    assert look_at((tmp_path / "pipe",), None, 0.0).stamps == (None,)
    assert look_at((tmp_path,), None, 0.0).empty
