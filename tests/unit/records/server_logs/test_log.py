"""What servers say, kept without anybody waiting for the disk."""

import asyncio
import logging
from pathlib import Path

import pytest

from bascule.core.events import LinkChanged
from bascule.core.sensitivity import Lane
from bascule.records.server_logs import log as server_log
from bascule.records.server_logs.file import LogLine, log_path
from bascule.records.server_logs.log import MOST_HELD, ServerLog
from bascule.records.server_logs.tail import LogTail
from support.links import ALICE
from support.waiting import fail_after


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "logs" / "abc"


def a_log(folder: Path) -> ServerLog:
    log = ServerLog(lambda: 5.0)
    log.open(folder)
    return log


def kept(folder: Path, server: str = "work") -> list[LogLine]:
    return LogTail(log_path(folder, server)).last(100_000)


async def test_what_is_said_and_how_links_fare_is_kept_in_order(folder: Path):
    log = a_log(folder)
    log.note(LinkChanged("work", Lane.OPEN, ALICE, "connecting", "", 3.0))
    log.said("work", ALICE, 4711, "hello")
    log.note(LinkChanged("work", Lane.OPEN, ALICE, "failed", "it died", 4.0))
    log.said("other", ALICE, 4712, "elsewhere")
    await log.close()

    assert kept(folder) == [
        LogLine(3.0, "link", "alice", "s-1", "", state="connecting"),
        LogLine(5.0, "stderr", "alice", "s-1", "hello", 4711),
        LogLine(4.0, "link", "alice", "s-1", "it died", state="failed"),
    ]
    assert [line.text for line in kept(folder, "other")] == ["elsewhere"]


async def test_lines_are_written_by_and_by_and_not_one_by_one(folder: Path, monkeypatch: pytest.MonkeyPatch):
    writes: list[int] = []
    wrote, loop = asyncio.Event(), asyncio.get_running_loop()

    def counted(path: Path, data: bytes) -> None:
        writes.append(data.count(b"\n"))
        loop.call_soon_threadsafe(wrote.set)

    monkeypatch.setattr(server_log, "append", counted)
    log = a_log(folder)
    async with fail_after(10):
        for _ in range(1000):
            log.said("work", ALICE, 1, "line")
        await wrote.wait()
    assert writes == [1000]
    await log.close()
    assert writes == [1000]


async def test_what_comes_during_a_write_is_written_after_it(folder: Path, monkeypatch: pytest.MonkeyPatch):
    log = a_log(folder)
    log.said("work", ALICE, 1, "one")
    log._flush()
    log.said("work", ALICE, 1, "two")
    await log.close()

    assert [line.text for line in kept(folder)] == ["one", "two"]


async def test_a_disk_that_is_too_slow_does_not_fill_memory(folder: Path):
    log = a_log(folder)
    for _ in range(2000):
        log.said("work", ALICE, 1, "x" * 1000)
    assert len(log._held["work"]) <= MOST_HELD
    await log.close()

    *lines, last = kept(folder)
    assert last.kind == "note"
    assert last.text == f"… {2000 - len(lines)} lines left out: they came faster than they could be written"


async def test_a_log_that_cannot_be_kept_is_said_once_and_harms_nothing(folder: Path, caplog: pytest.LogCaptureFixture):
    folder.parent.parent.mkdir()
    folder.parent.write_text("in the way")
    log = a_log(folder)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            log.said("work", ALICE, 1, "line")
            log._flush()
            assert log._writing is not None
            await log._writing
        await log.close()

    assert len(caplog.records) == 1
    assert str(folder) in caplog.text


async def test_nothing_is_made_before_there_is_something_to_keep(folder: Path):
    log = a_log(folder)
    await log.close()
    log.said("work", ALICE, 1, "too late")

    assert not folder.exists()
    assert log._held == {}
