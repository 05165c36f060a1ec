import asyncio

import pytest

from support.waiting import PATIENCE, fail_after


async def test_a_body_that_hangs_fails_with_what_was_awaited():
    with pytest.raises(AssertionError, match=f"the reply was not done within {0.01 * PATIENCE} s"):
        async with fail_after(0.01, "the reply"):
            await asyncio.Event().wait()


async def test_a_body_that_ends_in_time_passes():
    async with fail_after(30):
        await asyncio.sleep(0)


async def test_a_timeout_of_the_body_is_not_taken_for_ours():
    with pytest.raises(TimeoutError, match="the peer's"):
        async with fail_after(30):
            raise TimeoutError("the peer's")
