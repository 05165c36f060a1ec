"""Which lock holds."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.pinning.lock import Lock
from bascule.catalog.server_listing import catalog_listing
from bascule.config.model.runtime_config import Locking as Mode
from bascule.core.tool import ToolStatus
from bascule.runtime.servers import lock as lock__locking
from bascule.runtime.servers.lock import Locking
from support.locks import RICH, approved, lock_in
from support.runtime import a_tool, running, stand_in
from support.waiting import fail_after

CHANGED = {**RICH, "title": "Other"}


def a_locking(folder: Path, mode: Mode = "auto") -> Locking:
    return Locking(mode, folder / "bascule.lock")


async def test_without_a_file_nothing_is_locked_unless_it_is_required(tmp_path: Path):
    for held, every in ((a_locking(tmp_path), False), (a_locking(tmp_path, "required"), True)):
        await held.look()
        assert held.lock == Lock(every=every)
    assert Locking("required", None).lock.covers("work")
    assert await Locking("required", None).look() is False


async def test_where_it_is_off_the_file_is_not_looked_at(tmp_path: Path):
    (tmp_path / "bascule.lock").write_text("broken")
    held = a_locking(tmp_path, "off")
    assert await held.look() is False
    assert held.lock == Lock()


async def test_it_follows_the_file(tmp_path: Path):
    held = a_locking(tmp_path)
    assert await held.look() is False
    lock_in(tmp_path, work=(RICH,))
    assert await held.look() is True
    assert held.lock.servers == {"work": approved(RICH)}
    lock = held.lock
    assert await held.look() is False
    assert held.lock is lock
    lock_in(tmp_path, work=(CHANGED,))
    assert await held.look() is True
    assert held.lock.servers == {"work": approved(CHANGED)}


async def test_a_file_that_says_the_same_in_other_words_is_no_other_lock(tmp_path: Path):
    held = a_locking(tmp_path)
    path = lock_in(tmp_path, work=(RICH,))
    await held.look()
    lock = held.lock
    path.write_text(path.read_text().replace("  ", " "))
    assert await held.look() is False
    assert held.lock is lock


async def test_a_broken_file_approves_nothing_until_it_is_mended(tmp_path: Path):
    held = a_locking(tmp_path)
    path = lock_in(tmp_path, work=(RICH,))
    await held.look()
    path.write_text("{")
    assert await held.look() is True
    assert held.lock.trouble is not None
    assert held.lock.covers("anything")
    assert await held.look() is False
    lock_in(tmp_path, work=(RICH,))
    assert await held.look() is True
    assert held.lock.trouble is None


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_a_file_that_goes_away_opens_nothing(tmp_path: Path, mode: Mode):
    held = a_locking(tmp_path, mode)
    path = lock_in(tmp_path, work=())
    await held.look()
    path.unlink()
    await held.look()
    assert held.lock.covers("work")
    assert "act" not in held.lock.servers.get("work", {})


async def test_the_file_is_looked_at_on_nobodys_behalf_until_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lock__locking, "EVERY", 0.01)
    held, twice, looks = a_locking(tmp_path), asyncio.Event(), 0

    async def follow() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            twice.set()

    held.watch(follow)
    async with fail_after(20):
        await twice.wait()
    await held.close()
    await held.close()
    assert len(asyncio.all_tasks()) == 1


async def test_nothing_is_watched_where_there_is_no_file_to_watch():
    held = Locking("auto", None)
    held.watch(lambda: pytest.fail("nobody looks"))
    assert len(asyncio.all_tasks()) == 1
    await held.close()


async def test_a_lock_that_comes_while_a_long_listing_is_read_counts_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tools = tuple(a_tool(f"act{number}", description="x" * 2000) for number in range(200))
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(tools))
    started, go = threading.Event(), threading.Event()

    def slow(*words: Any) -> Any:
        made = catalog_listing(*words)
        started.set()
        assert go.wait(20)
        return made

    monkeypatch.setattr("bascule.runtime.servers.listings.catalog_listing", slow)
    server = stand_in("work", "obeying", tmp_path / "log", f"@{file}")
    async with running(server, path=tmp_path / "bascule.yaml") as runtime:
        session = runtime.session("alice", "s-1")
        settling = asyncio.create_task(session.settle("work"))
        await asyncio.to_thread(started.wait, 20)
        lock_in(tmp_path, work=tools[1:])
        await session.look_at_lock()
        go.set()
        assert (await settling).tools == len(tools) - 1
        assert session.entries("work")["act0"].spec.status is ToolStatus.QUARANTINED
