"""Progress that is held back until its time has come."""

import asyncio
from typing import Any

import pytest

from bascule.runtime.progress_buffer import MOST_HELD, Withholding
from support.waiting import fail_after


async def test_nothing_is_told_before_it_is_released_and_then_all_of_it_in_order():
    told: list[Any] = []
    withholding = Withholding(lambda *words: told.append(words))
    for number in range(3):
        withholding(number, 3.0, f"word {number}")
    assert told == []

    await withholding.release()
    assert told == [(0, 3.0, "word 0"), (1, 3.0, "word 1"), (2, 3.0, "word 2")]
    await withholding.release()
    assert len(told) == 3


async def test_a_caller_may_take_its_time():
    told: list[Any] = []

    async def slowly(*words: Any) -> None:
        await asyncio.sleep(0)
        told.append(words)

    withholding = Withholding(slowly)
    withholding(1, None, None)
    await withholding.release()
    assert told == [(1, None, None)]


async def test_of_too_much_the_later_words_are_kept():
    told: list[float] = []
    withholding = Withholding(lambda progress, *_: told.append(progress))
    for number in range(MOST_HELD + 5):
        withholding(number, None, None)
    await withholding.release()
    assert told == list(range(5, MOST_HELD + 5))


async def test_a_caller_who_never_has_heard_enough_costs_nobody_the_outcome():
    ended = asyncio.Event()

    async def never(*_: Any) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    withholding = Withholding(never)
    withholding(1, None, None)
    async with fail_after(10, "the release"):
        await withholding.release(limit=0.01)
        await ended.wait()


async def test_what_a_caller_raises_is_theirs_and_costs_nobody_the_outcome():
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    withholding = Withholding(broken)
    withholding(1, None, None)
    await withholding.release()

    for _ in range(100):
        if reported:
            break
        await asyncio.sleep(0)
    else:
        pytest.fail("nobody was told")
    assert isinstance(reported[0]["exception"], ZeroDivisionError)
