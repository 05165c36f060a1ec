"""Pending requests, from the queue to the response."""

import asyncio
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost, LaneClosed, PermitLost, ReplyTimeout
from bascule.transports.jsonrpc import Pending
from bascule.wire.jsonrpc import Message
from support.streams import Leave, a_request

REPLY = Message(id=1, result={})


def pending(**terms: Any) -> Pending:
    return Pending.of(a_request(**terms), b"data", asyncio.get_running_loop().create_future(), 10.0)


async def test_it_is_an_outgoing_message_with_the_permit_of_its_request():
    leave = Leave()
    waiting = pending(permit=leave)

    assert (waiting.data, waiting.permit, waiting.deadline) == (b"data", leave, 10.0)
    assert not waiting.sent
    assert not waiting.dropped


async def test_no_reply_can_be_meant_for_it_before_it_has_left_nor_after_it_was_answered():
    queued, sent, answered = (pending() for _ in range(3))
    sent.sent = answered.sent = True
    answered.future.set_result(REPLY)

    assert [waiting.awaited for waiting in (queued, sent, answered)] == [False, True, False]


async def test_only_a_reply_answers_it():
    answered, failed, cancelled, open_ = (pending() for _ in range(4))
    answered.future.set_result(REPLY)
    failed.fail(ConnectionLost("gone"))
    cancelled.future.cancel()

    assert [waiting.answered for waiting in (answered, failed, cancelled, open_)] == [True, False, False, False]
    with pytest.raises(ConnectionLost):
        await failed.future


async def test_the_first_end_counts():
    waiting = pending()
    waiting.fail(ConnectionLost("first"))
    waiting.fail(ConnectionLost("second"))
    waiting.expire()
    waiting.refuse()

    with pytest.raises(ConnectionLost, match="first"):
        await waiting.future


async def test_a_permit_that_is_gone_is_told_as_such():
    waiting = pending()
    waiting.refuse()

    with pytest.raises(PermitLost):
        await waiting.future


@pytest.mark.parametrize("phase", ["call", "list"])
async def test_a_deadline_that_passed_names_the_method_the_limit_and_the_setting(phase: str):
    waiting = pending(method="tools/call", timeout=0.5, phase=phase)
    waiting.expire()

    with pytest.raises(ReplyTimeout, match=r"no reply to tools/call within 0\.5 s") as caught:
        await waiting.future
    assert (caught.value.phase, caught.value.timeout) == (phase, 0.5)
    assert f"timeouts.{phase}" in caught.value.fix


async def test_a_relay_is_there_only_for_who_wants_progress():
    assert pending().relay is None
    assert pending(on_progress=lambda *_: None).relay is not None


async def test_when_its_lane_is_closed_it_says_whether_it_had_left():
    queued, sent = pending(), pending()
    sent.sent = True
    for waiting in (queued, sent):
        waiting.bar(ConnectionLost("the level was raised", fix="call again"))

    assert (queued.dropped, sent.dropped) == (True, False)
    with pytest.raises(PermitLost):
        await queued.future
    with pytest.raises(LaneClosed, match="the level was raised") as closed:
        await sent.future
    assert (closed.value.sent, closed.value.fix) == (True, "call again")


async def test_when_its_lane_is_closed_nobody_hears_of_its_progress_any_more():
    told: list[object] = []
    waiting = pending(on_progress=lambda *progress: told.append(progress))
    assert waiting.relay is not None
    waiting.relay.offer({"progress": 1})
    waiting.bar(ConnectionLost("the level was raised"))
    await asyncio.sleep(0)

    assert told == []
    with pytest.raises(PermitLost):
        await waiting.future
