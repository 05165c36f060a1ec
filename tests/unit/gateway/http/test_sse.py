import asyncio
from typing import Any

import pytest

from bascule.gateway.http.sse import COMMENT, Steady
from support.virtual_time import in_virtual_time

START: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": []}
PART: dict[str, Any] = {"type": "http.response.body", "body": b"x", "more_body": True}
END: dict[str, Any] = {"type": "http.response.body", "body": b""}


class Wire(list[Any]):
    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.free.set()

    async def send(self, part: dict[str, Any]) -> None:
        await self.free.wait()
        self.append(part)

    @property
    def comments(self) -> int:
        return sum(part.get("body") == COMMENT for part in self)


def test_a_silent_stream_says_now_and_then_that_it_is_there():
    async def minute() -> int:
        wire = Wire()
        sending = Steady(wire.send)
        await sending(START)
        await asyncio.sleep(61)
        sending.stop()
        return wire.comments

    assert in_virtual_time(minute()) == 4


def test_one_that_speaks_has_no_need_to():
    async def minute() -> int:
        wire = Wire()
        sending = Steady(wire.send)
        await sending(START)
        for _ in range(60):
            await sending(PART)
            await asyncio.sleep(1)
        sending.stop()
        return wire.comments

    assert in_virtual_time(minute()) == 0


@pytest.mark.parametrize("how", ["its last part", "stop"])
def test_nothing_is_said_by_itself_once_it_is_over(how: str):
    async def minute() -> int:
        wire = Wire()
        sending = Steady(wire.send)
        await sending(START)
        await sending(END) if how == "its last part" else sending.stop()
        await asyncio.sleep(60)
        return wire.comments

    assert in_virtual_time(minute()) == 0


async def test_nothing_comes_before_what_was_sent_first():
    wire = Wire()
    sending = Steady(wire.send)
    wire.free.clear()
    first, second = asyncio.ensure_future(sending(START)), asyncio.ensure_future(sending(PART))
    await asyncio.sleep(0)
    wire.free.set()
    await asyncio.gather(second, first)
    sending.stop()
    assert wire == [START, PART]


def test_a_client_that_reads_nothing_is_not_sent_ever_more():
    async def hour() -> list[Any]:
        wire = Wire()
        sending = Steady(wire.send)
        await sending(START)
        wire.free.clear()
        stuck = asyncio.ensure_future(sending(PART))
        await asyncio.sleep(3600)
        wire.free.set()
        await stuck
        sending.stop()
        return wire

    assert in_virtual_time(hour()) == [START, PART]
