"""What the first bytes of a server decide, seen through a whole conversation."""

import asyncio
import json
from typing import Any

import pytest

from bascule.core.errors import ProtocolViolation
from support.streams import Loopback


async def settled() -> None:
    """Let everything that can happen now happen."""
    for _ in range(5):
        await asyncio.sleep(0)


async def asked(stream: Loopback) -> list["asyncio.Task[dict[str, Any]]"]:
    calls = [stream.ask("tools/call")]
    await settled()
    return calls


def behind_length(message: Any) -> bytes:
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


@pytest.mark.parametrize("cut", [0, 1, 8, 15, 16, 19, 20, 30])
async def test_a_server_that_answers_a_line_behind_a_length_is_understood_and_spoken_to_in_lines(cut: int):
    stream = Loopback()
    (call,) = await asked(stream)
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
    (call,) = await asked(stream)
    stream.feed(b"Content-Length: 101\r\n\r\n")

    with pytest.raises(ProtocolViolation, match="longer than 100"):
        await call
