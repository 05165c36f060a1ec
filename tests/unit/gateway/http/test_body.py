"""The shared memory budget of large bodies, and the reader that bounds each body."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bascule.gateway.http import body
from bascule.gateway.http.body import BULK, SMALL, Gone, Intake, NotTaken, Room
from bascule.gateway.limits import Allowance, TooMuch
from support.waiting import fail_after


async def steps() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_they_have_room_in_the_order_in_which_they_came():
    room, order = Room(10, 10), list[str]()
    first = await room.enter(10, Allowance())

    async def wait(name: str, size: int) -> None:
        held = await room.enter(size, Allowance())
        order.append(name)
        held.release()

    async with fail_after(10, "everybody"):
        waiting = [asyncio.ensure_future(wait("large", 10))]
        await steps()
        waiting.append(asyncio.ensure_future(wait("less", 1)))
        await steps()
        assert not order
        first.shrink(5)
        await steps()
        assert not order
        first.release()
        await asyncio.gather(*waiting)
    assert order == ["large", "less"]


async def test_who_gives_up_waiting_takes_none():
    room, who = Room(10, 10), Allowance()
    held = await room.enter(10, Allowance())
    async with fail_after(10, "everybody"):
        given_up = asyncio.ensure_future(room.enter(10, who))
        waiting = asyncio.ensure_future(room.enter(10, Allowance()))
        await steps()
        given_up.cancel()
        await asyncio.wait((given_up,))
        assert who.held == 0
        held.release()
        (await waiting).release()


async def test_who_gives_up_in_the_moment_of_its_turn_gives_it_to_the_next():
    room, who = Room(10, 10), Allowance()
    held = await room.enter(10, Allowance())
    async with fail_after(10, "everybody"):
        given_up = asyncio.ensure_future(room.enter(10, who))
        waiting = asyncio.ensure_future(room.enter(10, Allowance()))
        await steps()
        held.release()
        given_up.cancel()
        await asyncio.wait((given_up,))
        (await waiting).release()
    assert who.held == 0


async def test_who_waits_for_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(body, "PATIENCE", 0.01)
    room, who = Room(10, 10), Allowance()
    held = await room.enter(10, Allowance())
    with pytest.raises(TooMuch):
        await room.enter(10, who)
    assert who.held == 0
    held.release()
    (await room.enter(10, who)).release()


async def test_one_principal_has_a_share_and_no_more():
    room, greedy = Room(1, 4), Allowance()
    held = [await room.enter(1, greedy) for _ in range(2)]
    with pytest.raises(TooMuch):
        await room.enter(1, greedy)
    (await room.enter(1, Allowance())).release()
    held[0].release()
    (await room.enter(1, greedy)).release()


async def test_one_that_stands_for_everybody_has_all_of_it_and_waits():
    room, everybody = Room(1, 2), Allowance(everybody=True)
    held = [await room.enter(1, everybody) for _ in range(2)]
    async with fail_after(10, "a third one"):
        waiting = asyncio.ensure_future(room.enter(1, everybody))
        await steps()
        assert not waiting.done()
        held[0].release()
        await waiting


async def test_what_is_released_twice_is_given_back_once():
    room, who = Room(10, 10), Allowance()
    held = await room.enter(10, who)
    held.release()
    held.release()
    assert who.held == 0
    second = await room.enter(10, who)
    waiting = asyncio.ensure_future(room.enter(1, Allowance()))
    await steps()
    assert not waiting.done()
    second.release()
    (await waiting).release()


async def test_what_was_set_aside_leaves_its_room_to_the_request_it_waits_for():
    room, who = Room(10, 10), Allowance()
    first = await room.enter(10, who)
    assert first.set_aside()
    assert first.set_aside()
    async with fail_after(10, "the request that brings the answer"):
        second = await room.enter(10, who)
    # There is an end to that too.
    assert not second.set_aside()
    first.release()
    assert second.set_aside()
    second.release()
    assert (who.held, who.aside) == (0, 0)


async def test_one_principal_sets_aside_no_more_than_its_share():
    room, greedy = Room(1, 4), Allowance()
    for fits in (True, True, False):
        assert (await room.enter(1, greedy)).set_aside() is fits
    assert (await room.enter(1, Allowance())).set_aside()


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


async def taken(intake: Intake, receive: Callable[[], Awaitable[dict[str, Any]]], length: str, who: Allowance) -> bytes:
    """The body of a request that is answered at once."""
    body, bulk = await intake.take(receive, length, who)
    if bulk is not None:
        bulk.release()
    return bytes(body)


@pytest.mark.parametrize("pieces", [(b"",), (b"abc",), (b"a", b"b", b"c"), (b"a" * SMALL, b"b" * SMALL)])
async def test_a_body_comes_whole_however_it_is_cut(pieces: tuple[bytes, ...]):
    body = b"".join(pieces)
    assert await taken(Intake(MiB), sent(*pieces), str(len(body)), Allowance()) == body
    assert await taken(Intake(MiB), sent(*pieces), "", Allowance()) == body


@pytest.mark.parametrize("length", ["11", "99999999999999999", "", "-1", "abc", "9" * 30])
async def test_one_that_is_too_long_is_not_taken_whatever_it_announces(length: str):
    for pieces in ((b"x" * 11,), (b"x" * 6, b"x" * 5), (b"x" * 10, b"x", b"x" * 100)):
        with pytest.raises(NotTaken) as caught:
            await Intake(10).take(sent(*pieces), length, Allowance())
        assert caught.value.status == 413


async def test_a_large_one_that_is_too_long_is_not_taken_either_and_has_nothing_of_the_room():
    intake, who = Intake(MiB, room=MiB), Allowance()
    for pieces in ((b"x" * (MiB + 1),), (b"x" * MiB, b"x")):
        for length in ("", str(MiB)):
            with pytest.raises(NotTaken):
                await intake.take(sent(*pieces), length, who)
            assert who.held == 0


async def test_of_one_that_announces_too_much_not_a_byte_is_read():
    async def never() -> dict[str, Any]:
        raise AssertionError

    with pytest.raises(NotTaken):
        await Intake(10).take(never, "11", Allowance())


@pytest.mark.parametrize("pieces", [(), (b"a",), (b"a" * SMALL, b"b")])
async def test_a_client_that_hangs_up_has_sent_nothing(pieces: tuple[bytes, ...]):
    intake, who = Intake(MiB), Allowance()
    with pytest.raises(Gone):
        await intake.take(sent(*pieces, whole=False), str(MiB), who)
    assert who.held == 0
    assert await taken(intake, sent(b"a", b"b"), str(MiB), who) == b"ab"


@pytest.mark.parametrize("pieces", [(b"x" * MiB,), (b"x" * SMALL, b"x" * (MiB - SMALL))])
@pytest.mark.parametrize("length", [str(MiB), ""])
async def test_a_large_one_has_of_the_room_what_it_is_long_until_it_is_answered(pieces: tuple[bytes, ...], length: str):
    intake, who = Intake(2 * MiB, room=4 * MiB), Allowance()
    body, bulk = await intake.take(sent(*pieces), length, who)
    assert bulk is not None
    assert who.held == len(body) == MiB
    bulk.release()
    assert who.held == 0


async def test_a_small_one_that_did_not_say_how_long_it_is_has_nothing_of_the_room():
    intake, who = Intake(MiB), Allowance()
    assert await intake.take(sent(b"a", b"b"), "", who) == (b"ab", None)
    assert who.held == 0


async def test_large_ones_wait_until_those_before_were_answered_and_small_ones_do_not():
    intake = Intake(MiB, room=MiB)
    first, second = sent(b"x", b"y" * (MiB - 1)), Dripping(MiB)
    second.go.set()
    async with fail_after(10, "two large bodies"):
        body, bulk = await intake.take(first, str(MiB), Allowance())
        waiting = asyncio.ensure_future(taken(intake, second, str(MiB), Allowance()))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not second.started.is_set()
        assert await taken(intake, sent(b"a", b"b"), "2", Allowance()) == b"ab"
        assert bulk is not None
        bulk.release()
        assert len(body) == len(await waiting) == MiB


async def test_one_that_was_read_before_is_not_counted_twice():
    intake, who = Intake(MiB, room=MiB), Allowance()
    body, bulk = await intake.take(sent(b"x" * MiB), str(MiB), who)

    async def again() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False, BULK: bulk}

    async with fail_after(10, "the body once more"):
        assert await intake.take(again, str(MiB), who) == (body, bulk)
    assert who.held == MiB
