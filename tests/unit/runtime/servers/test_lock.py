"""Lock file, approval of tools, and the lock in force."""

import asyncio
import json
import multiprocessing
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.approval import Proposal
from bascule.catalog.pinning.lock import Lock, LockedServers, read_lock, write_lock
from bascule.catalog.server_listing import catalog_listing
from bascule.config.model.runtime_config import Locking as Mode
from bascule.core.errors import ConfigError
from bascule.core.tool import ToolKey, ToolStatus
from bascule.runtime.servers import lock
from bascule.runtime.servers.lock import Locking, approve, change_lock, lock_path, look_at_lock
from support.locks import RICH, approved, lock_in, locked_tools
from support.runtime import a_tool, running, stand_in
from support.waiting import fail_after

OTHER = {**RICH, "name": "other"}
LATER = 1e12
"""So late that the file was surely written long before."""


def test_the_lock_lies_beside_the_config():
    assert lock_path(Path("/a/b/bascule.yaml")) == Path("/a/b/bascule.lock")
    assert lock_path(None) is None


def test_what_the_file_says_is_found(tmp_path: Path):
    path = tmp_path / "bascule.lock"
    assert look_at_lock(path, None, 0).content is None
    lock_in(tmp_path, work=(RICH,))
    assert look_at_lock(path, None, 0).content == {"work": approved(RICH)}


def test_a_file_that_cannot_have_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = lock_in(tmp_path, work=(RICH,))
    first = look_at_lock(path, None, LATER)
    monkeypatch.setattr(lock, "read_regular", lambda *_: pytest.fail("it was read"))
    assert look_at_lock(path, first, LATER) is first


def test_a_file_that_was_just_written_is_read_again_and_says_the_same(tmp_path: Path):
    path = lock_in(tmp_path, work=(RICH,))
    first = look_at_lock(path, None, time.time())
    stamp = path.stat()
    data = path.read_bytes().replace(b'"Act"', b'"Ack"')
    path.write_bytes(data)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert isinstance(look_at_lock(path, first, time.time()).content, ConfigError)
    path.write_bytes(data.replace(b'"Ack"', b'"Act"'))
    again = look_at_lock(path, first, time.time())
    assert again.content is first.content


def test_two_writes_in_one_tick_of_the_file_systems_clock_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, now = lock_in(tmp_path, work=(RICH,)), time.time()
    stamp = (int(now * 1e9), int(now * 1e9), 1, 1)
    monkeypatch.setattr(lock, "_stamp", lambda _status: stamp)
    first = look_at_lock(path, None, now + 1)
    lock_in(tmp_path, work=(OTHER,))
    assert look_at_lock(path, first, now + 1).content == {"work": approved(OTHER)}


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "large", "broken"])
def test_what_cannot_be_read_is_trouble_and_told_once(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "bascule.lock"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "large":
            monkeypatch.setattr(lock, "MAX_LOCK", 10)
            lock_in(tmp_path, work=(RICH,))
        case _:
            path.write_text("{")
    found = look_at_lock(path, None, 0)
    assert isinstance(found.content, ConfigError)
    assert "bascule.lock cannot be used" in found.content.message
    assert str(tmp_path) not in found.content.message + found.content.fix
    assert look_at_lock(path, found, 0).content is found.content
    with pytest.raises(ConfigError):
        change_lock(path, lambda servers: servers)


def test_a_broken_lock_is_not_written_over(tmp_path: Path):
    path = tmp_path / "bascule.lock"
    path.write_text("<<<<<<< HEAD")
    with pytest.raises(ConfigError, match="cannot be used"):
        change_lock(path, lambda _servers: {})
    assert path.read_text() == "<<<<<<< HEAD"


def test_a_change_keeps_the_rest_the_mode_and_a_link(tmp_path: Path):
    real = lock_in(tmp_path, work=(RICH,))
    real.chmod(0o640)
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / "bascule.lock"
    path.symlink_to(real)
    change_lock(path, lambda servers: {**servers, "more": approved(OTHER)})
    assert read_lock(real.read_bytes(), "") == {"work": approved(RICH), "more": approved(OTHER)}
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bascule.lock", "project"]


def test_a_change_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = lock_in(tmp_path, work=(RICH,))
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left"):
        change_lock(path, lambda _servers: {})
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["bascule.lock"]


def test_a_folder_that_somebody_holds_for_good_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock, "LONGEST_WAIT", 0.05)
    with lock._alone(tmp_path), pytest.raises(ConfigError, match="does not let go"):
        change_lock(tmp_path / "bascule.lock", lambda servers: servers)


def add(path: Path, name: str, count: int) -> None:
    for number in range(count):
        change_lock(path, lambda servers, tool=f"{name}{number}": {**servers, tool: approved(RICH)})


@pytest.mark.long
def test_of_many_who_change_it_at_once_nobody_loses_anything(tmp_path: Path, scale: int):
    path, count = tmp_path / "bascule.lock", 10 * scale
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add, args=(path, name, count)) for name in ("a", "b")]
    done, seen = threading.Event(), list[LockedServers]()

    def read() -> None:
        while not done.is_set():
            found = look_at_lock(path, None, 0).content
            assert not isinstance(found, ConfigError), found
            seen.append(found or {})

    reading = threading.Thread(target=read)
    reading.start()
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    finally:
        done.set()
        reading.join()
        for worker in workers:
            if worker.is_alive():
                worker.kill()
                worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(read_lock(path.read_bytes(), "")) == 2 * count
    assert [*map(len, seen)] == sorted(map(len, seen))
    assert path.read_bytes() == write_lock(read_lock(path.read_bytes(), ""))


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
    monkeypatch.setattr(lock, "EVERY", 0.01)
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


OLD, NEW, THIRD = (a_tool("act", description=text) for text in ("old", "new", "other"))


def proposal() -> Proposal:
    return Proposal(ToolKey("work", "act"), approved(OLD)["act"], approved(NEW)["act"])


def test_what_is_approved_takes_its_place(tmp_path: Path):
    path = lock_in(tmp_path, work=(OLD,))
    approve(path, ["work", "fresh"], [proposal()])
    assert locked_tools(tmp_path) == {"act": NEW}
    assert locked_tools(tmp_path, "fresh") == {}, "locked from now on, with nothing approved"


def test_a_lock_that_says_something_else_by_now_stays(tmp_path: Path):
    path = lock_in(tmp_path, work=(THIRD,))
    with pytest.raises(ConfigError, match="changed meanwhile, and says something else of work/act than you were shown"):
        approve(path, ["work"], [proposal()])
    assert locked_tools(tmp_path)["act"]["description"] == "other"
