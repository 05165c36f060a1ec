import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bascule.core.counters import Tally
from bascule.core.errors import ConnectionLost, PermitLost, ProtocolViolation, ReplyTimeout
from bascule.core.request import Request
from bascule.transports.deadlines import Deadlines
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.post import post
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import Received
from bascule.transports.http.response_head_cache import WholeReply
from support.http_links import LONG, Leave
from support.http_servers import Answer, Asked, RawServer, http_reply, raw_server
from support.waiting import fail_after


async def status(response: Received, _: Exchange) -> int:
    return response.status


async def refuse(response: Received, _: Exchange) -> int:
    raise ProtocolViolation(f"unreadable {response.status}")


@asynccontextmanager
async def endpoint_at(answer: Answer) -> AsyncGenerator[tuple[Endpoint, RawServer]]:
    async with fail_after(LONG), raw_server(answer) as server:
        endpoint = Endpoint(server.url, {})
        endpoint.open(LONG)
        try:
            yield endpoint, server
        finally:
            await endpoint.close()


def exchange(**terms: object) -> Exchange:
    found: list[Exchange] = []
    deadlines = Deadlines(lambda: found)
    made = Exchange(Request("tools/call", None, **{"timeout": LONG, **terms}), 1, LONG, deadlines.keep)  # pyright: ignore[reportArgumentType]
    found.append(made)
    return made


async def moved(asked: Asked, writer: asyncio.StreamWriter) -> None:
    to_there = http_reply(status="307 Moved", Location="/there")
    writer.write(to_there if asked.path == "/mcp" else http_reply(status="202 Accepted"))


async def hang(_: Asked, writer: asyncio.StreamWriter) -> None:
    await writer.drain()


async def test_a_message_is_sent_and_its_response_read_also_where_it_moved():
    async with endpoint_at(moved) as (endpoint, server):
        assert await post(endpoint, exchange(), b"{}", status) == 202
    assert [asked.path for asked in server.asked] == ["/mcp", "/there"]


async def test_the_passing_of_the_deadline_is_a_timeout_and_closes_the_connection():
    async with endpoint_at(hang) as (endpoint, server):
        with pytest.raises(ReplyTimeout):
            await post(endpoint, exchange(timeout=0.1), b"{}", status)
        await server.ended.get()


async def test_a_cancellation_from_outside_stays_one():
    async with endpoint_at(hang) as (endpoint, server):
        posting = asyncio.create_task(post(endpoint, exchange(), b"{}", status))
        await server.next()
        posting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await posting


async def test_without_leave_nothing_is_sent():
    async with endpoint_at(moved) as (endpoint, server):
        with pytest.raises(PermitLost):
            await post(endpoint, exchange(permit=Leave(False)), b"{}", status)
    assert server.asked == []


async def test_what_cannot_be_read_is_told_with_where_and_its_connection_closed():
    async with endpoint_at(moved) as (endpoint, server):
        with pytest.raises(ProtocolViolation, match="unreadable 202") as caught:
            await post(endpoint, exchange(), b"{}", refuse)
        assert caught.value.where == server.url
        assert not endpoint.in_session


async def test_a_broken_connection_is_lost_after_it_was_written_to():
    async def vanish(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with endpoint_at(vanish) as (endpoint, _):
        with pytest.raises(ConnectionLost) as caught:
            await post(endpoint, exchange(), b"{}", status)
        assert caught.value.sent


async def test_all_that_comes_back_is_counted_whatever_becomes_of_it():
    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(b"x" * 1000))

    async def read(received: Received, _: Exchange) -> bytes:
        return received.body if isinstance(received, WholeReply) else await received.content.read()

    async def unreadable(received: Received, exchange: Exchange) -> None:
        await read(received, exchange)
        raise ProtocolViolation("not JSON")

    tally = Tally(lambda: 0.0)
    async with endpoint_at(answer) as (endpoint, _):
        await post(endpoint, exchange(tally=tally), b"{}", read)
        assert tally.window.within(0.0) == 1000
        with pytest.raises(ProtocolViolation):
            await post(endpoint, exchange(tally=tally), b"{}", unreadable)
        assert tally.window.within(0.0) == 2000
        await post(endpoint, exchange(), b"{}", read)
    assert tally.window.within(0.0) == 2000
