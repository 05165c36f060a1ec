"""One timer keeps the deadlines of many waits."""

import asyncio
import math
from dataclasses import dataclass, field

import pytest

from bascule.transports.deadlines import FAR, TOGETHER, Deadlines
from support.waiting import fail_after


@dataclass
class Wait:
    """One that waits, and notes when its time was up."""

    deadline: float
    expired: asyncio.Event = field(default_factory=asyncio.Event)
    times: list[float] = field(default_factory=list[float])

    def expire(self) -> None:
        self.times.append(now())
        self.expired.set()


class Waits(list[Wait]):
    """All that wait now."""

    def add(self, deadlines: Deadlines, seconds: float) -> Wait:
        wait = Wait(now() + seconds)
        self.append(wait)
        deadlines.keep(wait.deadline)
        return wait


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_wait_expires_at_its_deadline_and_not_before():
    waits = Waits()
    wait = waits.add(Deadlines(lambda: waits), 0.01)
    assert not wait.expired.is_set()
    async with fail_after(10):
        await wait.expired.wait()

    assert wait.times[0] >= wait.deadline


async def test_each_of_many_waits_is_kept_in_its_turn():
    waits = Waits()
    deadlines = Deadlines(lambda: waits)
    for seconds in (0.03, 0.01, 0.02):
        waits.add(deadlines, seconds)
    async with fail_after(10):
        while waits:
            await waits[-1].expired.wait()
            ended = waits.pop()
            assert ended.times[0] >= ended.deadline


class Stopped:
    """A loop whose clock stands still."""

    def __init__(self) -> None:
        self.timers: list[float] = []

    def time(self) -> float:
        return 100.0

    def call_at(self, when: float, *_: object) -> None:
        self.timers.append(when)


@pytest.mark.parametrize(("later", "kept"), [(TOGETHER / 2, TOGETHER), (TOGETHER * 2, TOGETHER * 2)])
async def test_a_deadline_close_to_one_just_kept_is_kept_a_moment_late(later: float, kept: float):
    waits = [Wait(100.0), Wait(100.0 + later)]
    deadlines = Deadlines(lambda: waits)
    deadlines._loop = stopped = Stopped()  # pyright: ignore[reportAttributeAccessIssue]
    deadlines._due()

    assert [len(wait.times) for wait in waits] == [1, 0]
    assert stopped.timers == [100.0 + kept]


async def test_an_earlier_deadline_is_kept_though_a_later_one_is_waited_for():
    waits = Waits()
    deadlines = Deadlines(lambda: waits)
    late, soon = waits.add(deadlines, 3600), waits.add(deadlines, 0.01)
    async with fail_after(10):
        await soon.expired.wait()

    assert not late.expired.is_set()
    deadlines.stop()


async def test_a_later_deadline_needs_no_timer_of_its_own():
    waits = Waits()
    deadlines = Deadlines(lambda: waits)
    waits.add(deadlines, 3600)
    timer = deadlines._timer
    waits.add(deadlines, 7200)

    assert timer is not None
    assert deadlines._timer is timer
    deadlines.stop()


async def test_what_was_answered_in_time_never_expires():
    waits = Waits()
    deadlines = Deadlines(lambda: waits)
    answered, silent = waits.add(deadlines, 0.01), waits.add(deadlines, 0.02)
    waits.remove(answered)
    async with fail_after(10):
        await silent.expired.wait()

    assert answered.times == []


async def test_when_nothing_waits_any_more_there_is_no_timer():
    waits = Waits()
    deadlines = Deadlines(lambda: waits)
    wait = waits.add(deadlines, 0.01)
    async with fail_after(10):
        await wait.expired.wait()

    assert deadlines._timer is None


async def test_after_stopping_nothing_expires_and_stopping_twice_is_fine():
    waits = Waits()
    deadlines, others = Deadlines(lambda: waits), Waits()
    stopped = waits.add(deadlines, 0.01)
    deadlines.stop()
    deadlines.stop()
    later = others.add(Deadlines(lambda: others), 0.02)
    async with fail_after(10):
        await later.expired.wait()

    assert not stopped.expired.is_set()


async def test_a_wait_may_go_when_another_expires():
    """An expired request fails its caller, who may end others: the list changes while it is read."""
    waits = Waits()
    deadlines = Deadlines(lambda: waits)

    class Last(Wait):
        def expire(self) -> None:
            waits.clear()
            super().expire()

    last = Last(now())
    waits.append(last)
    waits.add(deadlines, 0)
    deadlines.keep(last.deadline)
    async with fail_after(10):
        await last.expired.wait()

    assert waits == []


async def test_a_wait_without_an_end_sets_a_timer_that_any_loop_can_count_to():
    waits = Waits()
    deadlines = Deadlines(lambda: waits)
    waits.add(deadlines, math.inf)

    assert deadlines._timer is not None
    assert deadlines._timer.when() <= now() + FAR
    deadlines.stop()
