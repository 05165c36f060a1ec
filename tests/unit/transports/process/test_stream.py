"""Messages on a byte stream, as lines or behind a length prefix."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bascule.core.errors import ProtocolViolation
from bascule.core.request import Request
from bascule.transports.jsonrpc import GARBAGE_LIMIT
from support.streams import Loopback, a_request


async def asked(stream: Loopback, count: int) -> list["asyncio.Task[dict[str, Any]]"]:
    calls = [stream.ask("tools/call") for _ in range(count)]
    await stream.until_sent(count)
    return calls


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(1, 9)), st.lists(st.integers(0, 400), max_size=6))
def test_any_order_and_any_chunks_give_each_its_own_reply(order: list[int], cuts: list[int]):
    async def exchange() -> list[Any]:
        stream = Loopback()
        calls = await asked(stream, len(order))
        data = b"".join(b'{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}\n' % (n, n) for n in order)
        ends = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
        for start, end in pairwise(ends):
            stream.feed(data[start:end])
        return [(await call)["n"] for call in calls]

    assert asyncio.run(exchange()) == sorted(order)


async def test_a_message_over_the_cap_ends_the_link_and_fails_who_waits():
    stream = Loopback(max_message=100)
    (call,) = await asked(stream, 1)
    stream.feed(b"x" * 101)

    with pytest.raises(ProtocolViolation, match="longer than 100 bytes") as caught:
        await call
    assert "messages.max" in caught.value.fix
    assert caught.value.sent
    with pytest.raises(ProtocolViolation) as after:
        await stream.send(a_request())
    assert not after.value.sent


async def test_what_came_before_a_message_over_the_cap_is_still_heard():
    stream = Loopback(max_message=100)
    (call,) = await asked(stream, 1)
    stream.feed(b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}\n' + b"x" * 101)

    assert await call == {"ok": True}
    assert "longer than 100 bytes" in (await stream.lost).message


async def test_a_server_that_prints_is_told_where_to_log():
    stream = Loopback()
    stream.feed(b"loading...\n" * GARBAGE_LIMIT)

    assert "stderr" in (await stream.lost).fix


async def test_what_names_a_long_request_of_ours_is_for_its_own_listener():
    peer, heard, own = Loopback(), list[str](), list[str]()
    peer.on_notice = lambda method, _: heard.append(method)
    asking = asyncio.ensure_future(peer.send(Request("listen", {}, 5, on_notice=lambda method, _: own.append(method))))
    await peer.until_sent(1)
    key, number = "io.modelcontextprotocol/subscriptionId", peer.sent[0]["id"]
    for named in (number, str(number), number + 1, None, [number]):
        peer.say({"jsonrpc": "2.0", "method": f"to/{named}", "params": {"_meta": {key: named}}})
    peer.say({"jsonrpc": "2.0", "method": "to/all", "params": {"_meta": 5}})
    peer.answer(number)
    await asking
    peer.say({"jsonrpc": "2.0", "method": "late", "params": {"_meta": {key: number}}})
    assert own == [f"to/{number}", f"to/{number}"]
    assert heard == [f"to/{number + 1}", "to/None", f"to/[{number}]", "to/all", "late"]


async def settled() -> None:
    """Let everything that can happen now happen."""
    for _ in range(5):
        await asyncio.sleep(0)


def behind_length(message: Any) -> bytes:
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


@pytest.mark.parametrize("cut", [0, 1, 8, 15, 16, 19, 20, 30])
async def test_a_server_that_answers_a_line_behind_a_length_is_understood_and_spoken_to_in_lines(cut: int):
    stream = Loopback()
    (call,) = await asked(stream, 1)
    data = behind_length({"jsonrpc": "2.0", "id": 1, "result": {"n": 1}})
    stream.feed(data[:cut])
    stream.feed(data[cut:])
    again = stream.ask("tools/list")
    await settled()
    stream.feed(behind_length({"jsonrpc": "2.0", "id": 2, "result": {"n": 2}}))

    assert [await call, await again] == [{"n": 1}, {"n": 2}]
    assert [message["method"] for message in stream.sent] == ["tools/call", "tools/list"]


@pytest.mark.parametrize(
    "greeting",
    [
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
        "not a message",
    ],
)
async def test_a_server_that_speaks_behind_a_length_before_it_answers_is_answered_in_kind(greeting: Any):
    stream = Loopback()
    await stream.notify("first")
    stream.feed(behind_length(greeting))
    await settled()
    await stream.notify("second")

    assert stream.written == [
        b'{"jsonrpc":"2.0","method":"first"}\n',
        b'Content-Length: 35\r\n\r\n{"jsonrpc":"2.0","method":"second"}',
    ]


async def test_a_server_that_sends_lines_is_never_sent_a_length_whatever_it_says_later():
    stream = Loopback()
    stream.feed(b'{"jsonrpc": "2.0", "method": "hello"}\nContent-Length: 2\r\n\r\n{}\n')
    await stream.notify("first")

    assert stream.written == [b'{"jsonrpc":"2.0","method":"first"}\n']
    assert stream.counters.garbage == 1


async def test_a_length_over_the_cap_ends_the_link():
    stream = Loopback(100)
    (call,) = await asked(stream, 1)
    stream.feed(b"Content-Length: 101\r\n\r\n")

    with pytest.raises(ProtocolViolation, match="longer than 100"):
        await call
