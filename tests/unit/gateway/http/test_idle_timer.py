"""Who is late, and who is not."""

import asyncio

import pytest

from bascule.gateway.http.idle_timer import Lateness
from support.waiting import fail_after

SOON, NEVER = 0.01, 600.0


class Told:
    """How often somebody was late."""

    def __init__(self) -> None:
        self.times = 0
        self.once = asyncio.Event()
        self.lateness = Lateness(self)

    def __call__(self) -> None:
        self.times += 1
        self.once.set()

    async def wait(self) -> None:
        async with fail_after(10, "somebody who is late"):
            await self.once.wait()


async def test_who_does_not_do_what_is_expected_is_late_once():
    told = Told()
    told.lateness.expect(SOON)
    await told.wait()
    await asyncio.sleep(2 * SOON)
    assert told.times == 1


async def test_what_is_expected_sooner_than_before_is_not_waited_for_any_longer():
    told = Told()
    told.lateness.expect(NEVER)
    told.lateness.expect(SOON)
    await told.wait()


@pytest.mark.parametrize("then", ["later", "nothing", "stopped"])
async def test_a_timer_that_was_set_for_something_else_says_nothing(then: str):
    told, beside = Told(), Told()
    told.lateness.expect(SOON)
    beside.lateness.expect(3 * SOON)
    if then == "later":
        told.lateness.expect(NEVER)
    elif then == "nothing":
        told.lateness.ease()
    else:
        told.lateness.stop()
    await beside.wait()
    assert told.times == 0
    told.lateness.stop()


async def test_what_is_expected_later_is_waited_for_as_well():
    told = Told()
    told.lateness.expect(SOON)
    told.lateness.expect(3 * SOON)
    await told.wait()


async def test_the_rest_of_something_gets_no_more_time_than_was_left_for_all_of_it():
    told = Told()
    told.lateness.expect(SOON)
    told.lateness.expect_the_rest(NEVER)
    await told.wait()
    told.once.clear()
    told.lateness.expect(NEVER)
    told.lateness.expect_the_rest(SOON)
    await told.wait()
