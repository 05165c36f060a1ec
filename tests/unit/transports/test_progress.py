import asyncio
import gc
from contextvars import ContextVar
from typing import Any

from bascule.transports.progress import ProgressRelay, with_token
from support.waiting import fail_after

WHO: ContextVar[str] = ContextVar("who")

Told = list[tuple[float, float | None, str | None]]


def offer(relay: ProgressRelay, *values: float) -> None:
    for value in values:
        relay.offer({"progress": value})


async def test_progress_arrives_in_order():
    told: Told = []
    relay = ProgressRelay(lambda *progress: told.append(progress))
    for value in (1, 2, 3):
        relay.offer({"progress": value, "total": 3, "message": f"{value} of 3"})
        await asyncio.sleep(0)

    assert told == [(1, 3, "1 of 3"), (2, 3, "2 of 3"), (3, 3, "3 of 3")]


async def test_a_storm_is_one_slot_and_its_newest_arrives():
    told: Told = []
    relay = ProgressRelay(lambda *progress: told.append(progress))

    offer(relay, *range(10_000))
    await relay.settle(5.0)

    assert told == [(9_999, None, None)]
    assert relay.replaced == 9_999


async def test_a_slow_callback_is_never_entered_twice():
    inside, most, told = 0, 0, []
    hold = asyncio.Event()

    async def slow(progress: float, *_: Any) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await hold.wait()
        told.append(progress)
        inside -= 1

    relay = ProgressRelay(slow)
    for value in (1, 2, 3):
        offer(relay, value)
        await asyncio.sleep(0)
    hold.set()
    await relay.settle(5.0)

    assert most == 1
    assert told == [1, 3]


async def test_settling_waits_for_what_was_offered():
    told: Told = []

    async def later(*progress: Any) -> None:
        await asyncio.sleep(0)
        told.append(progress)

    relay = ProgressRelay(later)
    offer(relay, 1)
    await relay.settle(5.0)

    assert told == [(1, None, None)]


async def test_settling_does_not_wait_for_a_callback_that_hangs():
    ended = asyncio.Event()

    async def hang(*_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    relay = ProgressRelay(hang)
    offer(relay, 1)
    async with fail_after(5, "settling"):
        await relay.settle(0.01)
        await ended.wait()


async def test_settling_without_progress_is_nothing():
    await ProgressRelay(lambda *_: None).settle(5.0)


async def test_what_a_callback_raises_goes_to_the_loop_and_the_next_progress_still_arrives():
    told: Told = []
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["exception"]))

    def picky(*progress: Any) -> None:
        if progress[0] == 1:
            raise ValueError("not one")
        told.append(progress)

    relay = ProgressRelay(picky)
    offer(relay, 1)
    await relay.settle(5.0)
    offer(relay, 2)
    await relay.settle(5.0)
    gc.collect()  # a task's exception is told when the task is gone

    assert told == [(2, None, None)]
    assert [str(complaint) for complaint in complaints] == ["not one"]


async def test_after_a_stop_nothing_more_is_told():
    told: Told = []
    relay = ProgressRelay(lambda *progress: told.append(progress))
    offer(relay, 1)
    relay.stop()
    await asyncio.sleep(0)

    assert told == []


async def test_malformed_progress_is_not_told():
    told: Told = []
    relay = ProgressRelay(lambda *progress: told.append(progress))
    relay.offer({"progress": "much"})
    await relay.settle(5.0)

    assert told == []


def test_a_wish_for_progress_keeps_what_else_the_request_says():
    assert with_token(None, 7) == {"_meta": {"progressToken": 7}}
    given = {"name": "x", "_meta": {"a": 1}}
    assert with_token(given, 7) == {"name": "x", "_meta": {"a": 1, "progressToken": 7}}
    assert given == {"name": "x", "_meta": {"a": 1}}


async def test_the_callback_runs_in_the_context_of_whoever_asked():
    told: list[str] = []
    WHO.set("alice")
    relay = ProgressRelay(lambda *_: told.append(WHO.get()))
    WHO.set("the reader of the link")
    offer(relay, 1)
    await relay.settle(5.0)

    assert told == ["alice"]
