"""Replies whose head came before: what is taken for one of them is what aiohttp's parser makes of it."""

import asyncio
import random
from typing import Any

import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from multidict import CIMultiDict

from bascule.transports.http.response_head_cache import LONGEST, MOST, VAIN, Replies

DATE = b"Date: Tue, 17 Nov 2026 19:55:%02d GMT"
KIND = b"Content-Type: application/json"
CHUNKED = b"Transfer-Encoding: chunked"


def fed(data: bytes) -> ResponseHandler:
    connection = ResponseHandler(asyncio.get_running_loop())
    connection.set_response_params(read_until_eof=True, auto_decompress=False)
    connection.data_received(data)
    return connection


def read(data: bytes) -> tuple[RawResponseMessage, bytes] | None:
    """The one response that this is, and its body, as aiohttp reads it; None for anything else."""
    connection = fed(data)
    if len(connection) != 1 or connection.exception() is not None:
        return None
    (message, content), _ = connection._buffer.popleft()
    return (message, content.read_nowait()) if content.is_eof() and not connection.should_close else None


def with_length(body: bytes = b"{}", *more: bytes, second: int = 0, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, DATE % second, b"Server: some", b"Content-Length: %d" % len(body), KIND, *more]
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def chunked(body: bytes = b"{}", *more: bytes, second: int = 0) -> bytes:
    lines = [b"HTTP/1.1 200 OK", DATE % second, b"Server: some", KIND, CHUNKED, *more]
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def knowing(*replies: bytes) -> Replies:
    known = Replies()
    for reply in replies:
        found = read(reply)
        assert found is not None
        known.learn(reply, found[0])
    return known


def same(known: Replies, data: bytes) -> bool:
    """Whether it is recognised, as what it is."""
    reply = known.recognise(data)
    if reply is None:
        return False
    found = read(data)
    assert found is not None, data
    message, body = found
    assert reply.body == body
    assert reply.status == message.code
    headers = CIMultiDict(message.headers)
    for name in ("Date", "Content-Length"):
        headers.popall(name, None)
    assert CIMultiDict(reply.headers) == headers
    return True


@pytest.mark.parametrize("made", [with_length, chunked])
@pytest.mark.parametrize("body", [b"{}", b"x", b"\r\n\r\n", b"0\r\n\r\n", b"y" * 100_000, with_length()])
async def test_the_same_head_at_another_time_with_another_body_is_recognised(made: Any, body: bytes):
    known = knowing(made(b"the first"))
    for second in (0, 0, 59):
        assert same(known, made(body, second=second))
        assert same(known, made(body + b"!", second=second))


async def test_an_empty_body_is_no_chunk():
    assert same(knowing(with_length()), with_length(b""))
    assert not same(knowing(chunked()), chunked(b""))


async def test_a_server_that_does_not_say_what_time_it_is_is_recognised():
    for data in (with_length(), chunked()):
        dateless = data.replace(DATE % 0 + b"\r\n", b"")
        assert same(knowing(dateless), dateless)
        assert not same(knowing(dateless), data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        with_length()[:-1],
        with_length() + b"!",
        with_length() + with_length(),
        with_length(b"x", status=b"200 Okay"),
        with_length(b"x", status=b"404 OK"),
        with_length(b"x", b"X-More: y"),
        with_length(b"x").replace(b"Server", b"server"),
        with_length(b"x").replace(b"Length: 1", b"Length: +1"),
        with_length(b"x").replace(b"Length: 1", b"Length: 1 "),
        with_length(b"x").replace(b"Length: 1", b"Length: 1\r\nContent-Length: 1"),
        with_length(b"x").replace(b"Nov", b"\x00"),
        with_length(b"x").replace(b"Nov", b"\xe9"),
        with_length(b"x").replace(b"Nov", b"\n"),
        chunked()[:-1],
        chunked() + b"!",
        chunked() + chunked(),
        chunked().replace(b"2\r\n{}", b"2;a=b\r\n{}"),
        chunked().replace(b"2\r\n{}", b"1\r\n{\r\n1\r\n}"),
        chunked().replace(b"2\r\n{}", b" 2\r\n{}"),
        chunked().replace(b"2\r\n{}", b"0x2\r\n{}"),
        chunked().replace(b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n"),
        chunked().replace(b"}\r\n0", b"}\n0"),
        chunked().replace(b"{}\r\n0", b"{}0\r\n0"),
    ],
)
async def test_what_differs_in_anything_else_is_left_to_the_parser(data: bytes):
    assert not same(knowing(with_length(), chunked()), data)


@pytest.mark.parametrize(
    "data",
    [
        with_length(b"x", status=b"201 Created"),
        with_length(b"x", status=b"404 Not Found"),
        with_length(b"x").replace(KIND, b"Content-Type: text/event-stream"),
        with_length(b"x").replace(KIND, b"X: y"),
        with_length(b"x", b"Content-Encoding: gzip"),
        with_length(b"x", b"X-Long: " + b"y" * LONGEST),
        with_length(b"x").replace(b"\r\nServer", b"\nServer"),
        with_length(b"x").replace(b"Server: some", b"Server: some\r\n more"),
        with_length(b"x").replace(b"HTTP/1.1", b"HTTP/1.0"),
        with_length(b"x", b"Connection: keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0"),
        with_length(b"x", b"Connection: close"),
        chunked(b"x", b"Connection: close"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + with_length(),
        chunked(b"x").replace(CHUNKED, b"Transfer-Encoding: gzip, chunked"),
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
async def test_what_has_more_to_it_is_not_learnt(data: bytes):
    known = Replies()
    for (message, _), _ in fed(data)._buffer:
        known.learn(data, message)
    assert known.recognise(data) is None


async def test_a_head_is_not_learnt_from_the_message_of_another():
    other = read(with_length(b"{}", b"X-Other: y"))
    assert other is not None
    known = Replies()
    known.learn(with_length(), other[0])
    assert known.recognise(with_length()) is None


async def test_a_body_that_did_not_come_with_its_head_is_not_learnt_from():
    found = read(with_length())
    assert found is not None
    known = Replies()
    for part in (with_length()[:-1], with_length()[:-2], with_length() + b"x"):
        known.learn(part, found[0])
        assert known.recognise(with_length()) is None


async def test_a_few_heads_are_remembered_and_those_that_came_last():
    made = [with_length(b"{}", b"X-Kind: %d" % number) for number in range(MOST + 1)]
    known = knowing(*made)
    assert not same(known, made[0])
    assert all(same(known, data) for data in [*made[1:], *reversed(made[1:])])


async def test_a_server_that_never_says_the_same_twice_is_not_learnt_from_for_ever():
    known = knowing(*(with_length(b"{}", b"X-Id: %d" % number) for number in range(VAIN)))
    assert not known.curious
    found = read(with_length())
    assert found is not None
    known.learn(with_length(), found[0])
    assert known.recognise(with_length()) is None
    # The last that was learnt comes again.
    assert same(known, with_length(b"{}", b"X-Id: %d" % (VAIN - 1)))
    assert known.curious


PARTS = (
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"0",
    b"2",
    b":",
    b"\x00",
    b"\xff",
    b"a",
    b"Content-Length: 2\r\n",
    b"0\r\n\r\n",
)


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_is_recognised_is_what_the_parser_makes_of_it(seed: int):
    """Replies with a few bytes put in, left out or changed."""
    chance = random.Random(seed)
    known = knowing(with_length(), chunked())
    recognised = 0
    for _ in range(1000):
        data = bytearray(
            chance.choice((with_length, chunked))(b"a" * chance.randrange(1, 40), second=chance.randrange(60))
        )
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(3)] = chance.choice(PARTS)
        recognised += same(known, bytes(data))
    assert 250 < recognised < 750
