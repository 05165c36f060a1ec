import asyncio

from bascule.gateway.readiness import Readiness
from support.waiting import fail_after


async def test_it_is_ready_from_its_beginning_to_its_end():
    readiness = Readiness()
    assert (readiness.ready, readiness.draining) == (False, False)
    readiness.begin()
    assert (readiness.ready, readiness.draining) == (True, False)
    waiting = asyncio.ensure_future(readiness.ending())
    readiness.end()
    assert (readiness.ready, readiness.draining) == (False, True)
    async with fail_after(5, "who waits for the end"):
        await waiting


async def test_what_was_told_to_end_before_it_began_never_is_ready():
    readiness = Readiness()
    readiness.end()
    readiness.begin()
    assert not readiness.ready
