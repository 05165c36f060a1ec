"""The clock that waits for nobody."""

import asyncio
import time

import pytest

from support.virtual_time import in_virtual_time


async def an_hour() -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.gather(asyncio.sleep(3600), asyncio.sleep(60))
    return loop.time() - began


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()


def test_an_hour_takes_no_time():
    began = time.process_time()

    assert in_virtual_time(an_hour()) == pytest.approx(3600)
    assert time.process_time() - began < 30


def test_waiting_for_nothing_is_found_out():
    with pytest.raises(AssertionError, match="nobody will do"):
        in_virtual_time(for_ever())
