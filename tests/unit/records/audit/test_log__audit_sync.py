"""The way to the disk: one at a time, many records together."""

import asyncio
import errno
import threading
from pathlib import Path

import pytest

from bascule.records.audit import log
from bascule.records.audit.log import AuditSync
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import AuditFolder
from support.waiting import fail_after, until


class Disk:
    """Counts how often something was brought to it. It takes its time while it is held."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.syncs = self.at_once = self.most = 0
        self.error: OSError | None = None
        self.going = threading.Event()
        self.going.set()
        monkeypatch.setattr(log, "sync_data", self._sync)

    def _sync(self, _descriptor: int) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.going.wait(10)
        self.syncs += 1
        self.at_once -= 1
        if self.error is not None:
            raise self.error


@pytest.fixture
def file(tmp_path: Path):
    folder = AuditFolder(tmp_path)
    folder.make()
    made = AuditFile(folder, "0001")
    yield made
    made.close()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def test_what_is_on_disk_is_not_brought_there_again(file: AuditFile, disk: Disk):
    sync = AuditSync(file)
    await sync.all()
    assert disk.syncs == 0
    file.append(b"one\n")
    await sync.all()
    await sync.all()

    assert disk.syncs == 1


async def test_those_who_come_meanwhile_share_the_next(file: AuditFile, disk: Disk):
    sync = AuditSync(file)
    disk.going.clear()
    file.append(b"one\n")
    first = asyncio.create_task(sync.all())
    await until(lambda: disk.at_once == 1)
    others: list[asyncio.Task[None]] = []
    for _ in range(10):
        file.append(b"more\n")
        others.append(asyncio.create_task(sync.all()))
    await asyncio.sleep(0)
    disk.going.set()
    await asyncio.gather(first, *others)

    assert (disk.syncs, disk.most) == (2, 1)


async def test_one_who_comes_in_the_moment_in_which_another_ended_is_served(file: AuditFile, disk: Disk):
    sync = AuditSync(file)
    async with fail_after(10, "two who follow each other closely"):
        for _ in range(50):
            file.append(b"one\n")
            waiting = asyncio.create_task(sync.all())
            await asyncio.sleep(0)
            running = sync._running
            assert running is not None
            while not running.done():  # noqa: ASYNC110 -- the very moment in which it ends is what matters
                await asyncio.sleep(0)
            file.append(b"two\n")
            await sync.all()
            await waiting


async def test_one_who_gives_up_stops_nobody(file: AuditFile, disk: Disk):
    sync = AuditSync(file)
    disk.going.clear()
    file.append(b"one\n")
    first, second = asyncio.create_task(sync.all()), asyncio.create_task(sync.all())
    await until(lambda: disk.at_once == 1)
    first.cancel()
    disk.going.set()
    await second

    assert first.cancelled()
    assert disk.syncs == 1


async def test_a_disk_that_fails_is_told_and_tried_again(file: AuditFile, disk: Disk):
    sync = AuditSync(file)
    file.append(b"one\n")
    disk.error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OSError, match="Input/output"):
        await sync.all()
    assert sync.trouble is disk.error
    disk.error = None
    await sync.all()

    assert (sync.trouble, disk.syncs) == (None, 2)
