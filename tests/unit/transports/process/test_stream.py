"""Messages as the lines of a byte stream."""

import asyncio
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
