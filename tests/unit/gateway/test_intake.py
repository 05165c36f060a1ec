import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bascule.gateway.allowance import Allowance, TooMuch
from bascule.gateway.intake import SMALL, Gone, Intake, NotTaken
from support.waiting import fail_after

MiB = 1 << 20


def sent(*pieces: bytes, whole: bool = True) -> Callable[[], Awaitable[dict[str, Any]]]:
    """A client that sends these. One that is not `whole` hangs up after them."""
    events = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if whole and events:
        events[-1]["more_body"] = False

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return events.pop(0) if events else {"type": "http.disconnect"}

    return receive


class Dripping:
    """A client that has sent the beginning of a body, and sends the rest when it is told to."""

    def __init__(self, size: int) -> None:
        self.go = asyncio.Event()
        self.started = asyncio.Event()
        self._events = [b"x", b"y" * (size - 1)]

    async def __call__(self) -> dict[str, Any]:
        if len(self._events) == 1:
            self.started.set()
            await self.go.wait()
        piece = self._events.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self._events)}


@pytest.mark.parametrize("pieces", [(b"",), (b"abc",), (b"a", b"b", b"c"), (b"a" * SMALL, b"b" * SMALL)])
async def test_a_body_comes_whole_however_it_is_cut(pieces: tuple[bytes, ...]):
    body = b"".join(pieces)
    assert await Intake(MiB).take(sent(*pieces), str(len(body)), Allowance()) == body
    assert await Intake(MiB).take(sent(*pieces), "", Allowance()) == body


@pytest.mark.parametrize("length", ["11", "99999999999999999", "", "-1", "abc", "9" * 30])
async def test_one_that_is_too_long_is_not_taken_whatever_it_announces(length: str):
    for pieces in ((b"x" * 11,), (b"x" * 6, b"x" * 5), (b"x" * 10, b"x", b"x" * 100)):
        with pytest.raises(NotTaken) as caught:
            await Intake(10).take(sent(*pieces), length, Allowance())
        assert caught.value.status == 413


async def test_of_one_that_announces_too_much_not_a_byte_is_read():
    async def never() -> dict[str, Any]:
        raise AssertionError

    with pytest.raises(NotTaken):
        await Intake(10).take(never, "11", Allowance())


@pytest.mark.parametrize("pieces", [(), (b"a",), (b"a" * SMALL, b"b")])
async def test_a_client_that_hangs_up_has_sent_nothing(pieces: tuple[bytes, ...]):
    intake = Intake(MiB)
    with pytest.raises(Gone):
        await intake.take(sent(*pieces, whole=False), str(MiB), Allowance())
    assert await intake.take(sent(b"a", b"b"), str(MiB), Allowance()) == b"ab"


async def test_large_ones_wait_until_there_is_room_and_small_ones_do_not():
    intake = Intake(MiB, room=MiB)
    first, second = Dripping(MiB), Dripping(MiB)
    async with fail_after(10, "two large bodies"):
        reading = [asyncio.ensure_future(intake.take(body, str(MiB), Allowance())) for body in (first, second)]
        await first.started.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not second.started.is_set()
        assert await intake.take(sent(b"a", b"b"), "2", Allowance()) == b"ab"
        second.go.set()
        first.go.set()
        bodies = await asyncio.gather(*reading)
    assert [len(body) for body in bodies] == [MiB, MiB]


async def test_who_gives_up_waiting_for_room_takes_none():
    intake = Intake(MiB, room=MiB)
    holding, waiting, after = Dripping(MiB), Dripping(MiB), Dripping(MiB)
    async with fail_after(10, "three large bodies"):
        reading = asyncio.ensure_future(intake.take(holding, str(MiB), Allowance()))
        given_up = asyncio.ensure_future(intake.take(waiting, str(MiB), Allowance()))
        last = asyncio.ensure_future(intake.take(after, str(MiB), Allowance()))
        await holding.started.wait()
        given_up.cancel()
        await asyncio.wait((given_up,))
        after.go.set()
        holding.go.set()
        assert len(await reading) == MiB
        assert len(await last) == MiB


async def test_one_principal_has_a_share_of_the_room_and_no_more():
    intake, greedy = Intake(MiB, room=8 * MiB), Allowance()
    held = [Dripping(MiB), Dripping(MiB)]
    async with fail_after(10, "three large bodies"):
        reading = [asyncio.ensure_future(intake.take(body, str(MiB), greedy)) for body in held]
        for body in held:
            await body.started.wait()
        with pytest.raises(TooMuch):
            await intake.take(sent(b"a", b"b"), str(MiB), greedy)
        assert await intake.take(sent(b"a", b"b"), "2", greedy) == b"ab"
        assert await intake.take(sent(b"a", b"b"), str(MiB), Allowance()) == b"ab"
        for body in held:
            body.go.set()
        await asyncio.gather(*reading)
        assert await intake.take(sent(b"a", b"b"), str(MiB), greedy) == b"ab"
