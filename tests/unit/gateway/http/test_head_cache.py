"""Heads that came before: what is taken for one of them is what a parser makes of it."""

import random
from typing import Any

import httptools
import pytest

from bascule.gateway.http.head_cache import LONGEST, LONGEST_VALUE, MOST, MOST_HEADERS, VAIN, Acquaintance, Shelf
from bascule.gateway.http.headers import read_head

LINES = (
    b"Host: 127.0.0.1:8000",
    b"Accept: application/json, text/event-stream",
    b"Mcp-Method: tools/call",
    b"Authorization: Bearer abc",
    b"User-Agent: a client",
)


class Read:
    """One request, as httptools reads it. `whole` once it came to its end, with nothing after it."""

    def __init__(self, data: bytes) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.url = self.body = b""
        self.begun = self.ended = 0
        self._parser: Any = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.begun += 1

    @property
    def whole(self) -> bool:
        return self.begun == self.ended == 1 and bool(self._parser.should_keep_alive())

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.ended += 1


def asked(body: bytes = b"{}", *more: bytes, length: bytes = b"Content-Length: %d", at: int = 2) -> bytes:
    """A request whose length is announced among its other headers."""
    lines = [*LINES[:at], length % len(body), *LINES[at:], *more]
    return b"POST /mcp HTTP/1.1\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def scope_of(data: bytes) -> dict[str, Any]:
    read = Read(data)
    assert read.whole
    return {"type": "http", "method": "POST", "path": read.url.decode(), "headers": read.headers}


def same(scope: dict[str, Any], read: dict[str, Any]) -> bool:
    """Whether a scope is what would have been made of its head, and says the same."""
    headers = scope["headers"]
    assert headers.read() == read_head(read["headers"])
    assert len(headers) == len(read["headers"])
    assert all(header in headers for header in read["headers"])
    return {**scope, "headers": [*headers]} == read


def knows(*heads: bytes, shelf: Shelf | None = None) -> Acquaintance:
    acquaintance = Acquaintance(shelf or Shelf())
    for head in heads:
        acquaintance.learn(head, scope_of(head))
    return acquaintance


@pytest.mark.parametrize("at", range(len(LINES) + 1))
@pytest.mark.parametrize("length", [b"Content-Length: %d", b"content-length:%d", b"CONTENT-LENGTH: \t%d"])
@pytest.mark.parametrize("body", [b"", b"{}", b"\r\n\r\n", b"x" * 1_000_000, asked()])
def test_the_same_head_is_recognised_whatever_the_body(at: int, length: bytes, body: bytes):
    known = knows(asked(b"first", at=at, length=length))
    data = asked(body, at=at, length=length)
    found = known.recognise(data)
    assert found is not None
    scope, got = found
    assert got == body
    headers = scope["headers"]
    assert same(scope, scope_of(data))
    headers.welcome()
    assert headers.read().welcome
    assert read_head(headers) == read_head(scope_of(data)["headers"])


SAID = (b"Mcp-Name: work_act", b"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")


@pytest.mark.parametrize("name", [b"x", b"work_act", b"=?base64?w6k=?=", b"x" * LONGEST_VALUE])
def test_another_tool_in_the_course_of_something_else_is_the_same_head(name: bytes):
    data = asked(b"{}", b"Mcp-Name: " + name, b"Traceparent: " + name[::-1])
    found = knows(asked(b"first", *SAID)).recognise(data)
    assert found is not None
    assert same(found[0], scope_of(data))


@pytest.mark.parametrize("name", [b"", b" x", b"x ", b"a b", b"a\tb", b"a\x00", b"\xe9", b"a\nHost: b", b"x" * 257])
def test_unless_its_name_could_be_read_in_two_ways(name: bytes):
    assert knows(asked(b"first", *SAID)).recognise(asked(b"{}", b"Mcp-Name: " + name, SAID[1])) is None


def test_the_same_request_again_and_again_is_the_same_each_time():
    known = knows(asked(b"first", *SAID))
    for body in (b"{}", b"[]", b"{}", b"first", b"", b""):
        data = asked(body, *SAID)
        found = known.recognise(data)
        assert found is not None
        assert found[1] == body
        assert same(found[0], scope_of(data))


def test_what_comes_twice_does_not_vary():
    twice = asked(b"{}", *SAID, SAID[0])
    known = knows(twice)
    assert known.recognise(twice) is not None
    assert known.recognise(asked(b"{}", *SAID, b"Mcp-Name: work_other")) is None
    assert known.recognise(asked(b"{}", b"Mcp-Name: work_other", SAID[1], SAID[0])) is None


def test_one_request_changes_nothing_of_the_next():
    first = scope_of(asked(b"first"))
    known = Acquaintance(Shelf())
    known.learn(asked(b"first"), first)
    first["path"] = "/other"
    first["headers"].clear()
    scopes = [found[0] for size in range(3) if (found := known.recognise(asked(b"x" * size)))]
    heads = [scope["headers"].read() for scope in scopes]
    assert [head.length for head in heads] == ["0", "1", "2"]
    scopes[0]["path"] = "/other"
    scopes[0]["headers"] = []
    found = known.recognise(asked(b"xyz"))
    assert found is not None
    assert same(found[0], scope_of(asked(b"xyz")))


@pytest.mark.parametrize(
    "data",
    [
        asked()[:-1],
        asked() + b"x",
        asked() + asked(),
        asked(b"{}", b"X: y"),
        asked(b"{}", b"Transfer-Encoding: chunked"),
        asked(b"{}", b"Content-Length: 2"),
        asked(b"{}", length=b"Content-Length: %d, 2"),
        asked(b"{}", length=b"Content-Length: +%d"),
        asked(b"{}", length=b"Content-Length: 0x%d"),
        asked(b"{}", length=b"Content-Length:  %d"),
        asked(b"").replace(b": 0", b": "),
        asked().replace(b"abc", b"abd"),
        asked().replace(b"/mcp", b"/mcq"),
        asked().replace(b"\r\n", b"\n"),
        b"\r\n" + asked(),
        b"",
    ],
)
def test_nothing_else_is(data: bytes):
    assert knows(asked()).recognise(data) is None


@pytest.mark.long
def test_what_is_recognised_a_parser_reads_in_the_same_way():
    dice = random.Random(7)
    pieces = [
        b"\0",
        b"\x7f",
        b"\xe9",
        b"\t",
        b"\r\n",
        b"\r",
        b"\n",
        b" ",
        b"0",
        b"7",
        b":",
        b"\r\n\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ]
    recognised = 0
    for _ in range(4000):
        known = knows(asked(b"12345", *SAID, at=dice.randrange(6)))
        data = asked(b"y" * dice.randrange(12), *SAID, at=dice.randrange(6))
        # One that came last, whole, is recognised in another way than the first.
        known.recognise(data)
        for _ in range(dice.randrange(3)):
            at = dice.randrange(len(data))
            data = data[:at] + dice.choice(pieces) + data[at + dice.randrange(3) :]
        found = known.recognise(data)
        if found is not None:
            recognised += 1
            read, headers = Read(data), found[0]["headers"]
            assert read.whole
            assert ([*headers], found[1]) == (read.headers, read.body)
            assert headers.read() == read_head(read.headers)
    assert recognised > 100


@pytest.mark.parametrize(
    "head",
    [
        asked(b"{}", b"X: " + b"x" * LONGEST),
        asked(b"{}", *(b"X-%d: y" % n for n in range(MOST_HEADERS))),
        b"GET /mcp HTTP/1.1\r\nHost: here\r\n\r\n",
    ],
)
def test_some_heads_are_not_remembered(head: bytes):
    assert knows(head).recognise(head) is None


def test_a_request_with_chunks_is_none_of_those_with_a_length():
    head = b"POST /mcp HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert knows(head).recognise(head) is None


def test_nor_is_one_that_somebody_read_who_takes_both():
    data = asked(b"{}", b"Transfer-Encoding: chunked")
    known = Acquaintance(Shelf())
    known.learn(data, {**scope_of(asked()), "headers": [(b"content-length", b"2"), (b"transfer-encoding", b"chunked")]})
    assert known.recognise(data) is None


def test_the_few_that_came_last_are_remembered():
    heads = [asked(b"{}", b"X-Name: %d" % n) for n in range(MOST + 1)]
    known = knows(*heads[:MOST])
    assert all(known.recognise(head) for head in heads[:MOST])
    assert known.recognise(heads[0])
    known.learn(heads[MOST], scope_of(heads[MOST]))
    # The one that has not come for longest makes room.
    assert [known.recognise(head) is not None for head in heads] == [True, False, *[True] * (MOST - 1)]


def test_a_client_that_never_says_the_same_twice_is_no_longer_listened_to():
    heads = [asked(b"{}", b"X-Request: %d" % n) for n in range(2 * VAIN)]
    known = knows(*heads[:VAIN])
    assert known.recognise(heads[VAIN - 1])
    known = knows(*heads)
    assert known.recognise(heads[-1]) is None


def test_there_is_so_much_room_for_all_connections():
    shelf = Shelf(left=3)
    first = knows(asked(), asked(b"{}", b"X: y"), shelf=shelf)
    second = knows(asked(), asked(b"{}", b"X: y"), shelf=shelf)
    assert shelf.left == 0
    assert second.recognise(asked())
    assert second.recognise(asked(b"{}", b"X: y")) is None
    first.forget()
    assert shelf.left == 2
    assert first.recognise(asked()) is None
    first.forget()
    assert shelf.left == 2
