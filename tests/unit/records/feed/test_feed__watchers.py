"""Many things happen, and whoever waits is woken once."""

import asyncio

from bascule.records.feed.feed import Watchers
from support.waiting import fail_after


async def test_nothing_is_set_going_while_nobody_waits():
    watchers = Watchers(pause=0.0)
    watchers.stir()
    assert not watchers
    assert watchers._timer is None


async def test_all_who_wait_are_woken_together():
    watchers = Watchers(pause=0.0)
    waiting = [asyncio.create_task(watchers.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert watchers
    for _ in range(100):
        watchers.stir()
    async with fail_after(5):
        await asyncio.gather(*waiting)
    assert not watchers


async def test_one_who_leaves_leaves_no_timer_behind():
    watchers = Watchers(pause=60)
    waiting = asyncio.create_task(watchers.wait())
    await asyncio.sleep(0)
    watchers.stir()
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert watchers._timer is None
