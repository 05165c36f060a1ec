"""A client that does not read what is written to it."""

import asyncio
from typing import Any, cast

import pytest

from bascule.gateway.http import backpressure
from bascule.gateway.http.backpressure import Outflow
from bascule.gateway.http.connection_limit import MOST_UNREAD, Hall
from support.waiting import fail_after, until


class Guest:
    """A connection with so much that waits to be read."""

    holder = "somebody"

    def __init__(self) -> None:
        self.waiting = 1000
        self.hung_up = False
        self.hall = Hall()
        self.outflow = Outflow(self.hall, self, cast("Any", self))

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def hang_up(self) -> None:
        self.hung_up = True


async def test_whoever_writes_waits_until_it_was_read():
    guest = Guest()
    guest.outflow.pause()
    writers = [asyncio.ensure_future(guest.outflow.drained()) for _ in "12"]
    await asyncio.sleep(0)
    assert not any(writer.done() for writer in writers)
    guest.outflow.resume()
    async with fail_after(10, "those who write"):
        await asyncio.gather(*writers)
    await guest.outflow.drained()


async def test_or_until_nobody_is_there_to_read_it():
    guest = Guest()
    guest.outflow.pause()
    writer = asyncio.ensure_future(guest.outflow.drained())
    await asyncio.sleep(0)
    guest.outflow.end()
    async with fail_after(10, "who writes"):
        await writer


async def test_who_reads_too_little_is_hung_up_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backpressure, "READ_WITHIN", 0.01)
    guest = Guest()
    guest.outflow.pause()
    await until(lambda: guest.hung_up)


async def test_who_reads_enough_is_looked_at_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backpressure, "READ_WITHIN", 0.01)
    monkeypatch.setattr(backpressure, "SLOWEST_READ", 100)
    guest = Guest()
    guest.outflow.pause()
    guest.waiting -= 100
    guest.outflow.look(1000)
    assert not guest.hung_up
    await until(lambda: guest.hung_up)


async def test_what_is_not_read_counts_for_as_long_as_it_is_not(monkeypatch: pytest.MonkeyPatch):
    guest = Guest()
    guest.waiting = MOST_UNREAD + 1
    guest.outflow.pause()
    assert guest.hung_up
    monkeypatch.setattr(guest, "hung_up", False)
    guest.waiting = 1
    guest.outflow.resume()
    guest.outflow.pause()
    assert not guest.hung_up
    guest.outflow.end()
