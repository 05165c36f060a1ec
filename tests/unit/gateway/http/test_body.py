"""The room that large bodies share. How they come is in test_intake.py."""

import asyncio

import pytest

from bascule.gateway.http import body
from bascule.gateway.http.body import Room
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
