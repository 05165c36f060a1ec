"""What is done for the log in the background."""

import asyncio
import errno
import logging

import pytest

from bascule.core.errors import StoreError
from bascule.records.audit import maintenance
from bascule.records.audit.maintenance import Tending
from support.waiting import until


class Log:
    """Counts what was done for it. Whatever is in `errors` goes wrong first."""

    def __init__(self) -> None:
        self.settled = self.anchored = 0
        self.errors: list[Exception] = []

    async def settle(self) -> None:
        if self.errors:
            raise self.errors.pop()
        self.settled += 1

    async def anchor(self) -> None:
        if self.errors:
            raise self.errors.pop()
        self.anchored += 1


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "GATHER", 0.001)


async def test_nothing_is_done_where_nothing_was_written():
    log = Log()
    tending = Tending(log.settle, log.anchor, 0.001)
    await asyncio.sleep(0.02)
    await tending.end()

    assert (log.settled, log.anchored) == (0, 0)


async def test_what_was_written_is_settled_soon_and_anchored_once():
    log = Log()
    tending = Tending(log.settle, log.anchor, 0.01)
    tending.wake()
    tending.wake()
    await until(lambda: log.anchored == 1)
    await asyncio.sleep(0.05)
    assert (log.settled, log.anchored) == (1, 1)
    tending.wake()
    await until(lambda: log.anchored == 2)
    await tending.end()

    assert log.settled == 2


async def test_what_is_written_again_and_again_is_not_anchored_each_time():
    log = Log()
    tending = Tending(log.settle, log.anchor, 600)
    for turn in range(1, 4):
        tending.wake()
        await until(lambda turn=turn: log.settled == turn)
    await tending.end()

    assert log.anchored == 0


async def test_what_fails_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture):
    log = Log()
    log.errors = [OSError(errno.ENOSPC, "No space left on device") for _ in range(3)]
    tending = Tending(log.settle, log.anchor, 600)
    with caplog.at_level(logging.WARNING):
        tending.wake()
        await until(lambda: log.settled == 1)
    await tending.end()

    assert [record.getMessage() for record in caplog.records] == [
        "the audit log cannot be kept for now: [Errno 28] No space left on device"
    ]


async def test_an_anchor_that_the_store_does_not_take_is_tried_again():
    log = Log()
    tending = Tending(log.settle, log.anchor, 0.01)
    tending.wake()
    await until(lambda: log.settled == 1)
    log.errors = [StoreError("away")]
    await until(lambda: log.anchored == 1)
    await tending.end()
