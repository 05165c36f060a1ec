"""POSTs without aiohttp's client. What they have in common with those through it is in test_http_body.py and
test_http.py."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import (
    ClientConnectionResetError,
    ClientResponseError,
    ConnectionTimeoutError,
    ServerDisconnectedError,
    client_proto,
)
from yarl import URL

from bascule.core.errors import ConnectionLost, PermitLost
from bascule.transports.http import connections as http_host
from bascule.transports.http.body import Body
from bascule.transports.http.connections import Host
from bascule.transports.http.direct_post import Direct
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response_head_cache import WholeReply
from bascule.transports.http.sockets import Sockets
from support.http_links import LONG, Leave, ask
from support.http_servers import Answer, Asked, RawServer, http_reply, raw_server
from support.waiting import fail_after, until

GIVEN = {"Accept": "application/json", "X-Key": "k", "User-Agent": "bascule"}


def exchange(permit: Leave | None = None) -> Exchange:
    made = Exchange(ask(permit=permit), 1, LONG, lambda _: None)
    made.begin()
    return made


@asynccontextmanager
async def session_of() -> AsyncGenerator[aiohttp.ClientSession]:
    connector = Sockets().connector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=GIVEN, cookie_jar=aiohttp.DummyCookieJar()) as made:
        yield made


@asynccontextmanager
async def host_of() -> AsyncGenerator[Host]:
    host = Host()
    try:
        yield host
    finally:
        await host.close()


@asynccontextmanager
async def direct_to(answer: Answer, sockets: Sockets | None = None) -> AsyncGenerator[tuple[Direct, RawServer]]:
    async with fail_after(LONG), raw_server(answer) as server, session_of() as session, host_of() as host:
        yield Direct(session, URL(server.url), LONG, host, sockets or Sockets()), server


async def fine(_: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http_reply(b"{}"))


class Counting:
    """Answers well, or without an end to what is no object, and counts the connections that it was asked on."""

    def __init__(self) -> None:
        self.connections = set[object]()

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer.get_extra_info("peername"))
        whole = http_reply(b"{}")
        writer.write(whole if asked.body == b"{}" else whole[:-1])


async def whole(direct: Direct, headers: Mapping[str, str] | None = None) -> bytes:
    received = await direct.post(b"{}", exchange(), headers or {})
    if isinstance(received, WholeReply):
        return received.body
    try:
        return await received.content.read()
    finally:
        received.close()


@pytest.mark.parametrize(
    "extra", [{}, {"mcp-name": "echo", "Authorization": "Bearer t"}, {"accept": "text/plain", "X-Key": "other"}]
)
async def test_a_request_is_the_one_that_aiohttps_client_would_send(extra: dict[str, str]):
    async with fail_after(LONG), raw_server(fine) as server, session_of() as session, host_of() as host:
        for url in (URL(server.url), URL(server.url).with_path("/a b").with_query(c="d é"), URL(server.url) / "x"):
            asked = URL(url).with_user("alice").with_password("p:w") if "Authorization" not in extra else url
            await whole(Direct(session, asked, LONG, host, Sockets()), extra)
            async with session.post(asked, data=Body(b"{}", exchange()), headers=extra) as response:
                await response.read()
            ours, theirs = server.asked[-2:]
            assert (ours.method, ours.path, ours.body) == (theirs.method, theirs.path, theirs.body)
            assert ours.headers == theirs.headers


async def test_a_connection_is_used_again_once_its_answer_was_read():
    async with direct_to(answer := Counting()) as (direct, _):
        for _ in range(3):
            assert await whole(direct) == b"{}"
        assert len(answer.connections) == 1
        for end in ("close", "release"):
            halfway = await direct.post(b"[]", exchange(), {})
            assert not isinstance(halfway, WholeReply)
            getattr(halfway, end)()
        await whole(direct)
        assert len(answer.connections) == 3


def parsers_made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The parsers that connections make from here on."""
    made: list[object] = []
    parser: Any = vars(client_proto)["HttpResponseParser"]

    def noted(*terms: Any, **more: Any) -> Any:
        made.append(parser(*terms, **more))
        return made[-1]

    monkeypatch.setattr(client_proto, "HttpResponseParser", noted)
    return made


async def test_a_connection_keeps_its_parser_as_long_as_the_same_is_wanted_of_it(monkeypatch: pytest.MonkeyPatch):
    made = parsers_made(monkeypatch)
    async with direct_to(fine) as (direct, server), session_of() as other:
        for _ in range(5):
            assert await whole(direct) == b"{}"
        assert len(made) == 1
        # aiohttp's own client has a timer with each request.
        for _ in range(2):
            async with other.post(server.url, data=b"{}") as response:
                assert await response.read() == b"{}"
        assert len(made) == 3


async def test_answers_of_every_kind_are_read_one_after_the_other_on_one_connection(monkeypatch: pytest.MonkeyPatch):
    made = parsers_made(monkeypatch)
    answers = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n", b"abcd"),
        (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", b"x"),
    ]
    left = [*answers, *reversed(answers)] * 3
    expected = [body for _, body in left]
    connections = set[object]()

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        connections.add(writer.get_extra_info("peername"))
        raw = left.pop(0)[0]
        # In two pieces, now and then.
        cut = len(raw) // 2 if len(left) % 2 else len(raw)
        writer.write(raw[:cut])
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(raw[cut:])

    async with direct_to(answer) as (direct, _):
        assert [await whole(direct) for _ in range(len(expected))] == expected
    assert (len(connections), len(made)) == (1, 1)


async def test_nothing_is_kept_of_an_answer_that_was_read(monkeypatch: pytest.MonkeyPatch):
    connections: list[Any] = []
    guard = Sockets.guard

    def noted(self: Sockets, protocol: Any) -> Any:
        connections.append(protocol)
        return guard(self, protocol)

    monkeypatch.setattr(Sockets, "guard", noted)
    async with direct_to(fine) as (direct, _):
        assert await whole(direct) == b"{}"
        [connection] = connections
        assert (connection._payload, connection.begun) == (None, b"")


async def test_what_comes_before_the_response_is_passed_over():
    async def early(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + http_reply(b"[]"))

    async with direct_to(early) as (direct, _):
        assert await whole(direct) == b"[]"


async def test_what_is_no_http_is_told_as_aiohttps_client_tells_it():
    async def junk(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    async def vanish(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with direct_to(junk) as (direct, _):
        with pytest.raises(ClientResponseError):
            await whole(direct)
    async with direct_to(vanish) as (direct, _):
        with pytest.raises((ServerDisconnectedError, ConnectionResetError, aiohttp.ClientOSError)):
            await whole(direct)


async def test_without_leave_nothing_counts_as_handed_over():
    sockets = Sockets(leave := Leave(True))
    async with direct_to(fine, sockets) as (direct, server):
        refused = exchange(Leave(False))
        with pytest.raises(PermitLost):
            await direct.post(b"{}", refused, {})
        assert (refused.handed_over, refused.refused) == (False, True)
        await whole(direct)
        sockets.leave = Leave(False)
        barred = exchange()
        with pytest.raises(PermitLost):
            await direct.post(b"{}", barred, {})
        assert (barred.handed_over, barred.refused) == (False, True)
        sockets.leave = leave
        await whole(direct)
        assert len(server.asked) == 2


async def test_a_connection_that_ends_before_the_write_means_not_sent(monkeypatch: pytest.MonkeyPatch):
    async with direct_to(fine) as (direct, server):
        connect = direct.host.connect

        async def closing(*terms: Any) -> object:
            connection = await connect(*terms)
            assert connection.transport is not None
            connection.transport.close()
            return connection

        monkeypatch.setattr(direct.host, "connect", closing)
        unsent = exchange()
        with pytest.raises(ClientConnectionResetError):
            await direct.post(b"{}", unsent, {})
        assert not unsent.handed_over
        assert server.asked == []


async def test_one_that_cannot_connect_in_time_says_so(monkeypatch: pytest.MonkeyPatch):
    async def late(*_: object) -> None:
        raise TimeoutError

    async with direct_to(fine) as (direct, _):
        monkeypatch.setattr(direct.host, "connect", late)
        with pytest.raises(ConnectionTimeoutError):
            await whole(direct)


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\x00b", "a\x7fb"])
async def test_a_value_that_could_end_its_line_is_never_sent(value: str):
    async with direct_to(fine) as (direct, server):
        with pytest.raises(ValueError, match="control character"):
            await whole(direct, {"X-Token": value})
        assert server.asked == []
        await whole(direct, {"X-Token": "a\tb é"})
        assert server.asked[0].headers["x-token"].encode("latin-1").decode() == "a\tb é"


async def test_no_more_heads_are_kept_than_fit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_host, "MOST_HEADS", 2)
    async with direct_to(fine) as (direct, server):
        for name in "abcab":
            await whole(direct, {"mcp-name": name})
            assert len(direct.host.heads) <= 2
        assert [asked.headers["mcp-name"] for asked in server.asked] == [*"abcab"]


async def test_a_reply_like_the_last_is_not_read_by_the_parser():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(asked.body, Date=f"Tue, 17 Nov 2026 19:55:{len(asked.body):02d} GMT", X_Kind="a"))

    async with direct_to(answer) as (direct, _):
        first = await direct.post(b"{}", exchange(), {})
        assert not isinstance(first, WholeReply)
        assert await first.content.read() == b"{}"
        for body in (b"{}", b"[1, 2, 3]"):
            reply = await direct.post(body, exchange(), {})
            assert isinstance(reply, WholeReply)
            assert (reply.body, reply.status, reply.headers["x-kind"]) == (body, 200, "a")
        assert len(direct.host) == 1


async def test_a_reply_that_comes_in_pieces_is_read_to_its_end():
    pieces = http_reply(b"{}")
    cut = len(pieces)

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        for piece in (pieces[:cut], pieces[cut:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)

    async with direct_to(answer) as (direct, _):
        for at in (len(pieces), 1, 20, len(pieces) - 2, len(pieces) - 1, len(pieces)):
            cut = at
            assert await whole(direct) == b"{}"


async def test_a_body_that_looks_like_a_reply_is_a_body():
    inner = http_reply(b"{}")

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.body == b"[]":
            writer.write(http_reply(inner).removesuffix(inner))
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(inner)

    async with direct_to(answer) as (direct, _):
        for _ in range(2):
            assert await whole(direct) == b"{}"
        received = await direct.post(b"[]", exchange(), {})
        assert not isinstance(received, WholeReply)
        assert await received.content.read() == inner


async def test_a_reply_that_ends_in_its_midst_is_lost_however_well_its_head_is_known():
    reply = http_reply(b"{}")
    cut = len(reply)

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply[:cut])
        if cut < len(reply):
            writer.close()

    async with direct_to(answer) as (direct, _):
        await whole(direct)
        await whole(direct)
        cut -= 1
        with pytest.raises(aiohttp.ClientError):
            await whole(direct)
        assert len(direct.host) == 0
        cut += 1
        assert await whole(direct) == b"{}"


async def test_what_a_server_says_unasked_is_nobodys_answer():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(asked.body))
        if asked.body == b"more":
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(http_reply(b"unasked"))

    async with direct_to(answer) as (direct, _):
        for body in (b"a", b"b", b"more"):
            received = await direct.post(body, exchange(), {})
            if not isinstance(received, WholeReply):
                await received.content.read()
        [connection] = [connection for connection, _ in direct.host._waiting]
        await until(lambda: connection.protocol is not None and connection.protocol.should_close)
        reply = await direct.post(b"c", exchange(), {})
        assert isinstance(reply, WholeReply)
        assert reply.body == b"c"


async def test_whoever_stops_waiting_gives_up_the_connection():
    answered, held = asyncio.Event(), asyncio.Event()

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.body == b"slow":
            held.set()
            await answered.wait()
        writer.write(http_reply(asked.body))

    async with direct_to(answer) as (direct, _):
        for _ in range(2):
            assert await whole(direct) == b"{}"
        waiting = asyncio.create_task(direct.post(b"slow", exchange(), {}))
        await held.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        answered.set()
        assert len(direct.host) == 0
        assert await whole(direct) == b"{}"


@pytest.mark.parametrize("known", [True, False])
async def test_what_is_done_to_a_request_is_not_done_to_the_next_on_its_connection(known: bool):
    async with direct_to(fine) as (direct, server):
        if known:
            await whole(direct)
        answered = exchange()
        received = await direct.post(b"{}", answered, {})
        assert isinstance(received, WholeReply) is known
        if not isinstance(received, WholeReply):
            await received.content.read()
        assert len(direct.host) == 1
        answered.end()
        answered.bar(ConnectionLost("its lane was closed"))
        await whole(direct)
        assert server.connections == 1
