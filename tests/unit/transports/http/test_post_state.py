import asyncio
import contextlib
import math
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, ConnectionLost, LaneClosed, PermitLost, ReplyTimeout
from bascule.transports.deadlines import Deadlines
from bascule.transports.http.post_state import Exchange
from support.http_links import Leave, ask
from support.waiting import fail_after

WHERE = "http://h.test/mcp"


def exchange(timeout: float = 1000.0, connect_timeout: float = 1000.0, **terms: Any) -> Exchange:
    in_flight: list[Exchange] = []
    in_flight.append(Exchange(ask(timeout=timeout, **terms), 1, connect_timeout, Deadlines(lambda: in_flight).keep))
    return in_flight[0]


async def wait_in(subject: Exchange) -> None:
    """What the transport does around an exchange."""
    subject.begin()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        if subject.take_back():
            raise subject.failure(WHERE) from None
        raise
    finally:
        subject.end()


async def test_a_connection_that_does_not_come_is_a_failure_to_connect():
    with pytest.raises(ConnectFailed, match=r"within 0\.01 s") as failed:
        await wait_in(exchange(connect_timeout=0.01))

    assert not failed.value.sent


async def test_from_the_write_on_the_request_has_its_own_time():
    subject = exchange(timeout=0.01, connect_timeout=1000.0)
    asyncio.get_running_loop().call_soon(lambda: (subject.claim(), setattr(subject, "handed_over", True)))

    with pytest.raises(ReplyTimeout) as failed:
        await wait_in(subject)

    assert (failed.value.phase, failed.value.timeout) == ("call", 0.01)
    assert failed.value.evidence == "nothing came back"


async def test_the_time_to_connect_does_not_end_a_request_that_was_written():
    subject = exchange(timeout=0.05, connect_timeout=0.01)
    asyncio.get_running_loop().call_soon(lambda: (subject.claim(), setattr(subject, "handed_over", True)))

    with pytest.raises(ReplyTimeout):
        await wait_in(subject)


async def test_a_second_write_does_not_give_a_request_more_time():
    subject = exchange(timeout=100.0)
    subject.begin()
    subject.claim()
    subject.handed_over = True
    before = subject.left()
    await asyncio.sleep(0)
    subject.claim()

    assert subject.left() < before
    subject.end()


async def test_a_request_without_a_limit_can_still_be_cut_off():
    subject = exchange(timeout=math.inf, connect_timeout=0.001)
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (subject.claim(), setattr(subject, "handed_over", True)))
    loop.call_later(0.02, subject.cut, "the link was closed")

    with pytest.raises(ConnectionLost, match="the link was closed") as lost:
        async with fail_after(30):
            await wait_in(subject)

    assert lost.value.sent


async def test_nothing_is_written_for_a_request_that_was_cut_off_and_has_not_ended_yet():
    subject = exchange()

    def cut_and_write() -> None:
        subject.cut("the link was closed")
        with pytest.raises(PermitLost):
            subject.claim()

    asyncio.get_running_loop().call_soon(cut_and_write)
    with pytest.raises(ConnectionLost, match="the link was closed") as lost:
        async with fail_after(30):
            await wait_in(subject)

    assert not lost.value.sent
    assert subject.refused


async def test_a_request_cut_off_before_the_write_was_surely_not_sent():
    subject = exchange()
    asyncio.get_running_loop().call_soon(subject.cut, "the link was closed")

    with pytest.raises(ConnectionLost) as lost:
        await wait_in(subject)

    assert not lost.value.sent


async def test_a_callers_cancellation_stays_one_even_when_the_deadline_passed_too():
    subject = exchange()
    waiting = asyncio.create_task(wait_in(subject))
    await asyncio.sleep(0)
    subject.cut("the link was closed")
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_deadline_that_passed_leaves_no_cancellation_behind():
    async def twice() -> int:
        with pytest.raises(ConnectFailed):
            await wait_in(exchange(connect_timeout=0.001))
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert await asyncio.create_task(twice()) == 0


async def test_a_deadline_that_passed_under_another_failure_leaves_none_behind_either():
    async def fails() -> int:
        subject = exchange(connect_timeout=0.001)
        subject.begin()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        subject.end()
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert await asyncio.create_task(fails()) == 0


async def test_a_deadline_that_passes_after_the_end_harms_nobody():
    subject = exchange(connect_timeout=0.001)
    subject.begin()
    subject.end()
    await asyncio.sleep(0.01)

    assert not subject.expired


async def test_a_task_that_takes_long_to_clean_up_is_cancelled_once():
    subject = exchange()
    subject.begin()
    subject.cut("the link was closed")
    subject.expire()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 1
    subject.end()


async def test_leave_is_refused_when_the_permit_is_gone():
    subject = exchange(permit=Leave(False))
    subject.begin()

    with pytest.raises(PermitLost):
        subject.claim()

    assert subject.refused
    subject.end()


async def test_leave_is_refused_after_the_request_is_over():
    subject = exchange(permit=Leave(True))
    subject.begin()
    subject.end()

    with pytest.raises(PermitLost):
        subject.claim()


async def test_only_a_time_that_can_be_set_is_advised():
    told = exchange(phase="list")
    told.handed_over = True
    silent = exchange(phase="notify")
    silent.handed_over = True

    assert "timeouts.list" in told.failure(WHERE).fix
    assert silent.failure(WHERE).fix == ""


class Socket(asyncio.WriteTransport):
    aborted = False

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize("handed_over", [False, True])
async def test_a_closed_lane_ends_the_wait_and_the_socket_and_says_whether_anything_left(handed_over: bool):
    subject, socket = exchange(), Socket()
    waiting = asyncio.create_task(wait_in(subject))
    await asyncio.sleep(0)
    subject.handed_over, subject.transport = handed_over, socket
    subject.bar(ConnectionLost("the level was raised"))
    assert socket.aborted

    with pytest.raises(LaneClosed if handed_over else PermitLost, match="the level was raised"):
        await waiting
    with pytest.raises(PermitLost):
        subject.claim()
