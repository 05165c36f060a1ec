"""Many things happen, and whoever waits is woken once."""

import asyncio

from bascule.records.feed.audience import Audience
from support.waiting import fail_after


async def test_nothing_is_set_going_while_nobody_waits():
    audience = Audience(pause=0.0)
    audience.stir()
    assert not audience
    assert audience._timer is None


async def test_all_who_wait_are_woken_together():
    audience = Audience(pause=0.0)
    waiting = [asyncio.create_task(audience.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert audience
    for _ in range(100):
        audience.stir()
    async with fail_after(5):
        await asyncio.gather(*waiting)
    assert not audience


async def test_one_who_leaves_leaves_no_timer_behind():
    audience = Audience(pause=60)
    waiting = asyncio.create_task(audience.wait())
    await asyncio.sleep(0)
    audience.stir()
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert audience._timer is None
