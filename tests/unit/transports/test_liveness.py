"""Signs of life."""

import asyncio

import pytest

from bascule.core.request import Request
from bascule.transports.liveness import Vitals
from support.virtual_time import in_virtual_time


def call(timeout: float, phase: str = "call") -> Request:
    return Request("tools/call", None, timeout, phase)


def test_who_was_heard_is_not_in_doubt():
    async def body() -> None:
        now = asyncio.get_running_loop().time
        vitals = Vitals(lambda: ())
        await asyncio.sleep(5)
        vitals.gave_up(call(3), now())
        assert vitals.doubted
        vitals.hear()
        assert not vitals.doubted
        assert vitals.heard == now()

    in_virtual_time(body())


def test_one_who_spoke_while_somebody_waited_is_not_in_doubt():
    async def body() -> None:
        vitals = Vitals(lambda: ())
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(2)
        vitals.hear()
        await asyncio.sleep(3)
        vitals.gave_up(call(4), began + 5)

        assert not vitals.doubted

    in_virtual_time(body())


@pytest.mark.parametrize("phase", ["heartbeat", "listen"])
def test_those_who_wait_as_long_as_it_takes_prove_nothing(phase: str):
    async def body() -> None:
        vitals = Vitals(lambda: ())
        await asyncio.sleep(9)
        vitals.gave_up(call(4, phase), asyncio.get_running_loop().time())

        assert not vitals.doubted

    in_virtual_time(body())


def test_work_excuses_silence_unless_it_only_stands_in_line():
    async def body() -> None:
        now = asyncio.get_running_loop().time
        waiting: list[float] = []
        vitals = Vitals(lambda: waiting)
        assert not vitals.excused
        waiting.append(now() + 1)
        assert vitals.excused

        await asyncio.sleep(10)
        # Somebody who asked 5 seconds ago got nothing; the one before them may still be worked on.
        vitals.gave_up(call(5), now())
        assert vitals.excused
        waiting[:] = [now() - 4]
        assert not vitals.excused
        # Of several who got nothing, the first counts.
        vitals.gave_up(call(2), now())
        assert not vitals.excused
        vitals.hear()
        assert vitals.excused

    in_virtual_time(body())
