import asyncio
from typing import Any

import pytest

from bascule.core.counters import Tally
from bascule.core.errors import ConnectionLost, PeerRefused, PermitLost, ProtocolViolation, ReplyTimeout
from bascule.transports.dispatcher import Response
from bascule.transports.jsonrpc import GARBAGE_LIMIT
from bascule.wire.json_limits import MAX_DEPTH
from support.streams import Leave, Loopback, a_request
from support.waiting import fail_after


async def settled() -> None:
    """Let everything that can happen now happen."""
    for _ in range(5):
        await asyncio.sleep(0)


async def asked(stream: Loopback, count: int = 1, **terms: Any) -> list["asyncio.Task[dict[str, Any]]"]:
    calls = [stream.ask("tools/call", **terms) for _ in range(count)]
    await settled()
    return calls


# Matching


async def test_replies_reach_their_requests_in_whatever_order_they_come():
    stream = Loopback()
    calls = await asked(stream, 3)
    for request_id in (2, 3, 1):
        stream.answer(request_id, n=request_id)

    assert [await call for call in calls] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert stream.counters.strays == 0


async def test_a_server_that_echoes_ids_as_text_is_understood():
    stream = Loopback()
    (call,) = await asked(stream)
    stream.answer("1", ok=True)

    assert await call == {"ok": True}
    assert stream.counters.strays == 0


@pytest.mark.parametrize("strange", [2, 0, -1, "x", "01x", 1.5, True, None, [1], {"id": 1}, 10**30], ids=repr)
async def test_a_reply_nobody_waits_for_is_counted_and_dropped(strange: Any):
    stream = Loopback()
    (call,) = await asked(stream)
    stream.answer(strange, wrong=True)
    stream.answer(1, right=True)

    assert await call == {"right": True}
    assert stream.counters.strays == 1


async def test_the_second_of_two_replies_is_counted_and_dropped():
    stream = Loopback()
    (call,) = await asked(stream)
    stream.answer(1, n="first")
    stream.answer(1, n="second")

    assert await call == {"n": "first"}
    stream.answer(1, n="third")
    assert stream.counters.strays == 2


async def test_a_late_reply_is_counted_and_dropped():
    stream = Loopback()
    with pytest.raises(ReplyTimeout):
        await stream.send(a_request(timeout=0.01))
    stream.answer(1)

    assert stream.counters.strays == 1


async def test_a_reply_that_comes_before_its_request_has_left_is_counted_and_dropped():
    stream = Loopback()
    stream.outbox.pause()
    (call,) = await asked(stream)
    stream.answer(1, guessed=True)
    stream.outbox.resume()
    stream.answer(1, guessed=False)

    assert await call == {"guessed": False}
    assert stream.counters.strays == 1


async def test_an_error_of_the_server_keeps_all_its_parts():
    stream = Loopback()
    (call,) = await asked(stream, phase="list")
    stream.say({"jsonrpc": "2.0", "id": 1, "error": {"code": -7, "message": "no", "data": {"why": "because"}}})

    with pytest.raises(PeerRefused) as caught:
        await call
    assert (caught.value.rpc_code, caught.value.message, caught.value.data) == (-7, "no", {"why": "because"})
    assert caught.value.phase == "list"


@pytest.mark.parametrize("reply", [{}, {"result": None}, {"result": [1]}, {"result": "ok"}], ids=repr)
async def test_a_reply_that_says_nothing_usable_is_a_violation(reply: dict[str, Any]):
    stream = Loopback()
    (call,) = await asked(stream)
    stream.say({"jsonrpc": "2.0", "id": 1, **reply})

    with pytest.raises(ProtocolViolation):
        await call
    assert not stream.lost.done()


# Bad peers


async def test_a_stray_print_is_forgiven_counted_and_sampled():
    stream = Loopback()
    (call,) = await asked(stream)
    stream.feed(b"Server started!\n[1, 2]\n\xff\xfe\n")
    stream.answer(1)

    assert await call == {}
    assert stream.counters.garbage == 3
    assert stream.counters.last_garbage == "\ufffd\ufffd"


async def test_a_stream_of_garbage_ends_the_link_and_fails_who_waits():
    stream = Loopback()
    (call,) = await asked(stream)
    stream.feed(b"loading...\n" * GARBAGE_LIMIT)

    with pytest.raises(ProtocolViolation, match="in a row could not be read") as caught:
        await call
    assert caught.value.evidence == "loading..."
    assert caught.value.sent
    assert "stderr" in caught.value.fix
    assert isinstance(stream.lost.result(), ProtocolViolation)


async def test_garbage_with_messages_between_never_reaches_the_limit():
    stream = Loopback()
    for _ in range(3):
        stream.feed(b"loading...\n" * (GARBAGE_LIMIT - 1))
        stream.say({"jsonrpc": "2.0", "method": "notifications/message"})

    assert stream.counters.garbage == 3 * (GARBAGE_LIMIT - 1)
    assert not stream.lost.done()


async def test_a_depth_bomb_is_one_message_of_garbage():
    stream = Loopback()
    named, unnamed = await asked(stream, 2)
    stream.feed(b'{"id":1,"result":' + b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 2) + b"\n")
    stream.feed(b"[" * 100_000 + b"\n")
    assert stream.counters.garbage == 2
    stream.answer(2, ok=True)

    with pytest.raises(ProtocolViolation, match="nests deeper"):
        await named
    assert await unnamed == {"ok": True}


async def test_what_was_not_sent_when_the_link_was_lost_is_never_sent():
    stream = Loopback()
    stream.outbox.pause()
    (call,) = await asked(stream)
    stream.lose(ProtocolViolation("too much"))
    stream.outbox.resume()

    with pytest.raises(ProtocolViolation) as lost:
        await call
    assert not lost.value.sent
    assert stream.written == []


async def test_after_the_link_is_lost_nothing_the_peer_sends_is_heard():
    stream = Loopback()
    heard: list[str] = []

    async def answer(method: str, _: Any) -> Response:
        heard.append(method)
        return Response({})

    stream.on_request = answer
    stream.on_notice = lambda method, _: heard.append(method)
    stream.feed(b"garbage\n" * GARBAGE_LIMIT + b'{"jsonrpc":"2.0","method":"notifications/message"}\n')
    stream.say({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"})
    await settled()

    assert heard == []


# Deadlines and leaving


async def test_a_timeout_names_its_phase_and_tells_the_server():
    stream = Loopback()

    with pytest.raises(ReplyTimeout) as caught:
        await stream.send(a_request("tools/list", 0.01, phase="list"))

    assert (caught.value.phase, caught.value.timeout) == ("list", 0.01)
    assert "tools/list within 0.01 s" in caught.value.message
    assert "timeouts.list" in caught.value.fix
    assert stream.sent[1]["method"] == "notifications/cancelled"
    assert stream.sent[1]["params"]["requestId"] == 1


async def drip(stream: Loopback, *lines: bytes) -> None:
    while True:
        for line in lines:
            stream.feed(line)
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/message"}\nnoise\n',
        b'{"jsonrpc":"2.0","id":99,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        b"\n",
    ],
    ids=["progress", "garbage", "strays", "pings", "blank lines"],
)
async def test_the_deadline_holds_whatever_trickles_in(line: bytes):
    stream = Loopback()
    dripping = asyncio.create_task(drip(stream, line))

    async with fail_after(10, "the deadline"):
        with pytest.raises(ReplyTimeout):
            await stream.send(a_request(timeout=0.05, on_progress=lambda *_: None))
    dripping.cancel()


async def test_a_caller_who_is_cancelled_stays_cancelled_and_the_server_is_told():
    stream = Loopback()
    (call,) = await asked(stream)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert [message["method"] for message in stream.sent] == ["tools/call", "notifications/cancelled"]
    assert stream.sent[1]["params"]["requestId"] == 1


@pytest.mark.parametrize("timeout", [0.01, 5.0], ids=["timeout", "cancelled"])
async def test_a_handshake_is_never_cancelled_on_the_wire(timeout: float):
    stream = Loopback()
    call = stream.ask("initialize", timeout, cancel_on_abandon=False)
    await settled()
    if timeout > 1:
        call.cancel()

    with pytest.raises((ReplyTimeout, asyncio.CancelledError)):
        await call
    assert [message["method"] for message in stream.sent] == ["initialize"]


async def test_a_caller_who_leaves_after_the_reply_came_cancels_nothing():
    stream = Loopback()
    (call,) = await asked(stream)
    stream.answer(1)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert [message["method"] for message in stream.sent] == ["tools/call"]


async def test_a_request_given_up_before_it_was_written_never_leaves():
    stream = Loopback()
    stream.outbox.pause()
    (call,) = await asked(stream)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    stream.outbox.resume()

    assert stream.sent == []


# Permits


async def test_a_permit_revoked_between_decision_and_write_keeps_the_request_back():
    stream, leave = Loopback(), Leave()
    first, second = stream.ask("tools/list"), stream.ask("tools/call", permit=leave)
    asyncio.get_running_loop().call_soon(setattr, leave, "given", False)  # after both were put, before the next step

    with pytest.raises(PermitLost):
        await second
    stream.answer(1)
    await first
    assert [message["method"] for message in stream.sent] == ["tools/list"]


async def test_a_permit_revoked_while_the_pipe_is_full_keeps_the_request_back():
    stream, leave = Loopback(), Leave()
    stream.outbox.pause()
    (call,) = await asked(stream, permit=leave)
    leave.given = False
    stream.outbox.resume()

    with pytest.raises(PermitLost):
        await call
    assert stream.sent == []


async def test_a_permit_that_holds_lets_the_request_through():
    stream = Loopback()
    (call,) = await asked(stream, permit=Leave())
    stream.answer(1, ok=True)

    assert await call == {"ok": True}


# The end


async def test_at_the_end_each_is_told_whether_its_request_had_left():
    stream = Loopback()
    (sent,) = await asked(stream)
    stream.outbox.pause()
    (unsent,) = await asked(stream)
    stream.lose(ConnectionLost("gone", evidence="stderr", fix="restart it"))

    for call, left in ((sent, True), (unsent, False)):
        with pytest.raises(ConnectionLost) as caught:
            await call
        assert (caught.value.sent, caught.value.evidence, caught.value.fix) == (left, "stderr", "restart it")


async def test_after_the_end_nothing_is_sent():
    stream = Loopback()
    stream.lose(ConnectionLost("gone"))

    for attempt in (stream.send(a_request()), stream.notify("notifications/initialized")):
        with pytest.raises(ConnectionLost, match="gone") as caught:
            await attempt
        assert not caught.value.sent
    assert stream.sent == []


async def test_the_first_reason_for_the_end_stands():
    stream = Loopback()
    stream.lose(ConnectionLost("first"))
    stream.lose(ConnectionLost("second"))

    assert stream.lost.result().message == "first"


# What is counted, and what is withdrawn


async def test_the_bytes_of_a_request_and_of_all_that_comes_for_it_are_counted():
    stream, tally = Loopback(), Tally(lambda: 0.0)
    (call,) = await asked(stream, tally=tally, on_progress=lambda *_: None)
    sent = len(stream.written[0])
    assert tally.window.within(0.0) == sent
    stream.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}})
    progress = tally.window.within(0.0) - sent
    stream.answer(2, text="somebody else's")
    stream.answer(1, text="x" * 100)
    await call

    assert progress > 50
    assert tally.window.within(0.0) - sent - progress > 100
    assert tally.window.within(0.0) - sent - progress < 200


async def test_a_question_that_the_server_takes_back_is_no_longer_answered():
    stream, asking, stopped = Loopback(), asyncio.Event(), asyncio.Event()

    async def answer(_method: str, params: dict[str, Any]) -> Response:
        asking.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.set()
        return Response(params)

    stream.on_request = answer
    stream.say({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create"})
    await settled()
    for other in (1, None, ["q"]):
        stream.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}})
    await settled()
    assert asking.is_set()
    assert not stopped.is_set()
    stream.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}})
    async with fail_after(10, "the end of asking"):
        await stopped.wait()
    await settled()

    assert stream.sent == []
