"""Audit log of a runtime, and its syncs to disk."""

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.core.errors import NotWrittenDown, StoreError
from bascule.core.sensitivity import DataSensitivity
from bascule.records.audit import log
from bascule.records.audit.log import Audit, AuditSync
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import AuditFolder
from bascule.store.sqlite.store import SqliteStore
from support.auditing import (
    RECEIPT,
    Asked,
    Full,
    Permit,
    checked,
    ended,
    fill,
    kinds,
    log_file,
    logged,
    opened,
)
from support.links import ALICE
from support.waiting import fail_after, until


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Full]:
    full = Full(monkeypatch)
    yield full
    full.on = False


# Its life


async def test_a_log_begins_is_continued_and_can_be_verified(tmp_path: Path):
    for _ in range(3):
        async with opened(tmp_path) as audit:
            fill(audit, 2)

    once = ["sending", "sending", "anchored"]
    assert kinds(tmp_path) == ["began", *once, "resumed", *once, "resumed", *once]
    assert [record["seq"] for record in logged(tmp_path)] == [*range(1, 13)]
    assert logged(tmp_path, "began")[0]["pid"] == os.getpid()
    assert [record["closing"] for record in logged(tmp_path, "anchored")] == [True] * 3
    check = await checked(tmp_path)
    assert (check.ok, check.writers[0].after) == (True, 0)
    names = {path.name for path in (tmp_path / "audit").iterdir()}
    assert names == {"id", "0001.log", "0001.lock"}


async def test_it_can_be_closed_by_several_at_once_and_again(tmp_path: Path):
    async with opened(tmp_path) as audit:
        fill(audit, 2)
        await asyncio.gather(*(audit.close() for _ in range(3)))
        await audit.close()

    assert kinds(tmp_path) == ["began", "sending", "sending", "anchored"]


def test_it_can_be_opened_again_in_another_loop(tmp_path: Path):
    audit = Audit(lambda: 7.0)

    async def live() -> None:
        store = SqliteStore(tmp_path / "bascule.db", tmp_path)
        await audit.open(tmp_path, store.anchors, every=600, whole=False)
        audit.note(ended())
        await asyncio.sleep(0)
        assert logged(tmp_path)[-1]["kind"] == "ended"
        audit.note(ended())
        await audit.close()
        await store.close()

    for _ in range(2):
        asyncio.run(live())


async def test_several_at_once_write_to_slots_of_their_own(tmp_path: Path):
    async with opened(tmp_path) as first, opened(tmp_path) as second:
        fill(first, 1)
        fill(second, 2)
    async with opened(tmp_path):
        pass

    check = await checked(tmp_path)
    assert check.ok
    assert [one.records for one in check.writers] == [5, 4]


async def test_a_torn_end_is_cut_off_and_told(tmp_path: Path):
    async with opened(tmp_path) as audit:
        fill(audit, 2)
    with log_file(tmp_path).open("ab") as file:
        file.write(b'{"kind":"torn')
    async with opened(tmp_path):
        pass

    (resumed,) = logged(tmp_path, "resumed")
    assert resumed["cut"] == 13
    assert (await checked(tmp_path)).ok


async def test_a_slot_that_somebody_was_at_is_left_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with opened(tmp_path) as audit:
        fill(audit, 5)
    cut = log_file(tmp_path).read_bytes().splitlines(keepends=True)[:3]
    log_file(tmp_path).write_bytes(b"".join(cut))
    with caplog.at_level(logging.WARNING):
        async with opened(tmp_path) as audit:
            fill(audit, 1)

    assert "the audit log is damaged in 0001" in caplog.text
    assert log_file(tmp_path).read_bytes() == b"".join(cut)
    assert logged(tmp_path, "began")[1]["passed"] == ["0001"]
    check = await checked(tmp_path)
    assert [one.damages for one in check.writers] == [1, 0]


async def test_without_its_key_a_log_is_not_continued(tmp_path: Path):
    async with opened(tmp_path):
        pass
    (tmp_path / "keys" / "audit.key").unlink()
    with pytest.raises(StoreError, match="key"):
        async with opened(tmp_path):
            pass

    assert not (tmp_path / "keys" / "audit.key").exists()


@pytest.mark.parametrize("place", ["audit", "audit/id", "audit/0001.lock"])
async def test_a_log_that_cannot_be_written_is_a_failed_start(tmp_path: Path, place: str):
    if place == "audit":
        (tmp_path / place).write_text("a file")
    else:
        (tmp_path / place).mkdir(parents=True, mode=0o700)
    with pytest.raises(StoreError, match="audit log") as caught:
        async with opened(tmp_path):
            pass

    assert "BASCULE_HOME" in caught.value.fix


async def test_a_start_that_fails_leaves_the_slot_to_others(tmp_path: Path, disk: Full):
    disk.on = True
    with pytest.raises(StoreError):
        async with opened(tmp_path):
            pass
    disk.on = False
    async with opened(tmp_path):
        pass

    assert [path.name for path in (tmp_path / "audit").glob("*.log")] == ["0001.log"]
    assert (await checked(tmp_path)).ok


async def test_from_the_first_record_on_a_chain_has_an_anchor(tmp_path: Path):
    async with opened(tmp_path):
        check = await checked(tmp_path)

        assert check.ok
        assert check.writers[0].proven is not None
        assert check.writers[0].proven.sequence == 0


async def test_it_is_anchored_every_now_and_then(tmp_path: Path):
    async with opened(tmp_path, every=0.01) as audit:
        await until(lambda: len(logged(tmp_path, "anchored")) == 1)
        fill(audit, 3)
        await until(lambda: len(logged(tmp_path, "anchored")) == 2)
        async with fail_after(10, "an anchor"):
            while (await checked(tmp_path)).writers[0].after:  # noqa: ASYNC110 -- the store tells nobody
                await asyncio.sleep(0.01)
        # Nothing was written since, so nothing has to be anchored.
        await asyncio.sleep(0.1)
        assert len(logged(tmp_path, "anchored")) == 2


async def test_what_comes_while_it_is_closed_is_refused_or_let_go(tmp_path: Path):
    audit = Audit(lambda: 1.0)
    audit.note(ended())
    await audit.close()
    for doing in (
        lambda: audit.sending(ALICE, Asked(), "tools/call", first=True, values=None),
        lambda: audit.sending(ALICE, Asked(), "tools/call", first=False, values=None),
        lambda: audit.permit(Permit(), 1),
        lambda: audit.ensure(1),
    ):
        with pytest.raises(NotWrittenDown, match="closed"):
            doing()
    assert audit.asked(ALICE, Asked(), "tools/call", {}) == 0
    with pytest.raises(NotWrittenDown):
        await audit.level_changed(None)
    assert not (tmp_path / "audit").exists()


# Before it is done


async def test_a_request_is_in_the_file_once_its_permit_is_asked(tmp_path: Path):
    async with opened(tmp_path) as audit:
        numbers = fill(audit, 3)
        permits = [audit.permit(Permit(), number) for number in numbers]
        assert logged(tmp_path, "sending") == []
        assert permits[0].valid()
        written = logged(tmp_path, "sending")

        assert [record["seq"] for record in written] == numbers
        assert written[0] == {
            "kind": "sending",
            "seq": 2,
            "at": 7.0,
            "user": "alice",
            "session": "s-1",
            "server": "files",
            "tool": "write",
            "lane": "open",
            "arguments": {"path": "string[4]"},
            "mac": written[0]["mac"],
        }


async def test_a_request_that_only_reads_needs_no_record_before(tmp_path: Path):
    async with opened(tmp_path) as audit:
        assert audit.sending(ALICE, Asked(), "tools/call", first=False, values=None) == 0
        audit.note(ended())
        assert logged(tmp_path, "ended") == []
        await asyncio.sleep(0)

        assert len(logged(tmp_path, "ended")) == 1


async def test_records_stand_in_the_order_in_which_things_happened(tmp_path: Path):
    async with opened(tmp_path) as audit:
        audit.note(ended())
        (number,) = fill(audit, 1)
        audit.note(ended(number))
        audit.note(ended())
        fill(audit, 1)

    assert kinds(tmp_path)[1:-1] == ["ended", "sending", "ended", "ended", "sending"]
    assert logged(tmp_path, "ended")[1]["call"] == number


async def test_arguments_are_whole_if_that_is_asked_for(tmp_path: Path):
    async with opened(tmp_path, whole=True) as audit:
        audit.sending(ALICE, Asked(), "tools/call", first=True, values={"path": "/a"})
        audit.sending(ALICE, Asked(), "tools/call", first=False, values={"path": "/b"})
        audit.asked(ALICE, Asked(), "tools/call", {"path": "/c"})
        audit.sending(ALICE, Asked(), "prompts/get", first=True, values={"name": "\ud800"})

    found = [(record["kind"], record["arguments"]) for record in logged(tmp_path, "sending", "asked")]
    assert found == [
        ("sending", {"path": "/a"}),
        ("sending", {"path": "/b"}),
        ("asked", {"path": "/c"}),
        ("sending", {"path": "string[4]"}),
    ]


async def test_a_change_of_a_level_is_on_disk_before_anybody_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[list[str]] = []
    real = log.sync_data

    def watching(descriptor: int) -> None:
        seen.append(kinds(tmp_path))
        real(descriptor)

    async with opened(tmp_path) as audit:
        monkeypatch.setattr(log, "sync_data", watching)
        await audit.level_changed(RECEIPT)
        assert seen[-1][-1] == "level"
        await audit.level_changed(None)
        await audit.deed(ALICE, "declassify", DataSensitivity.PUBLIC, "operator \udcff")
        assert seen[-1][-1] == "deed"

    (level,) = logged(tmp_path, "level")
    told = {name: level[name] for name in ("change", "before", "after", "by", "server", "tool", "receipt")}
    assert told == {
        "change": "raise",
        "before": "public",
        "after": "secret",
        "by": "label",
        "server": "files",
        "tool": "read",
        "receipt": 4,
    }
    assert "payroll" not in log_file(tmp_path).read_text()
    (deed,) = logged(tmp_path, "deed")
    assert (deed["change"], deed["to"], deed["by"]) == ("declassify", "public", "operator ?")


class SyncedDisk:
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
def synced_disk(monkeypatch: pytest.MonkeyPatch) -> SyncedDisk:
    return SyncedDisk(monkeypatch)


async def test_what_is_on_disk_is_not_brought_there_again(file: AuditFile, synced_disk: SyncedDisk):
    sync = AuditSync(file)
    await sync.all()
    assert synced_disk.syncs == 0
    file.append(b"one\n")
    await sync.all()
    await sync.all()

    assert synced_disk.syncs == 1


async def test_those_who_come_meanwhile_share_the_next(file: AuditFile, synced_disk: SyncedDisk):
    sync = AuditSync(file)
    synced_disk.going.clear()
    file.append(b"one\n")
    first = asyncio.create_task(sync.all())
    await until(lambda: synced_disk.at_once == 1)
    others: list[asyncio.Task[None]] = []
    for _ in range(10):
        file.append(b"more\n")
        others.append(asyncio.create_task(sync.all()))
    await asyncio.sleep(0)
    synced_disk.going.set()
    await asyncio.gather(first, *others)

    assert (synced_disk.syncs, synced_disk.most) == (2, 1)


async def test_one_who_comes_in_the_moment_in_which_another_ended_is_served(file: AuditFile, synced_disk: SyncedDisk):
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


async def test_one_who_gives_up_stops_nobody(file: AuditFile, synced_disk: SyncedDisk):
    sync = AuditSync(file)
    synced_disk.going.clear()
    file.append(b"one\n")
    first, second = asyncio.create_task(sync.all()), asyncio.create_task(sync.all())
    await until(lambda: synced_disk.at_once == 1)
    first.cancel()
    synced_disk.going.set()
    await second

    assert first.cancelled()
    assert synced_disk.syncs == 1


async def test_a_disk_that_fails_is_told_and_tried_again(file: AuditFile, synced_disk: SyncedDisk):
    sync = AuditSync(file)
    file.append(b"one\n")
    synced_disk.error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OSError, match="Input/output"):
        await sync.all()
    assert sync.trouble is synced_disk.error
    synced_disk.error = None
    await sync.all()

    assert (sync.trouble, synced_disk.syncs) == (None, 2)
