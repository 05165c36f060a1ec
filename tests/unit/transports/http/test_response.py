"""What a response does with its connection. How it is made is in test_http_direct.py."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy

from bascule.transports.http import response as response_module
from bascule.transports.http.response import MOST, DirectResponse, Linger
from support.http_links import LONG, new_link
from support.http_links import ask as asking
from support.http_servers import Asked, RawServer, event, raw_server
from support.waiting import fail_after


class Connection:
    """One that takes down what becomes of it."""

    def __init__(self) -> None:
        self.became: list[str] = []
        self.protocol = None

    def close(self) -> None:
        self.became.append("closed")

    def release(self) -> None:
        self.became.append("released")


def response_on(connection: Connection) -> tuple[DirectResponse, list[Any]]:
    """With what it wants to be told of the end of its body."""
    ends: list[Any] = []
    content = SimpleNamespace(on_eof=ends.append)
    headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"}))
    asked = cast("Any", connection), {"A": "b"}
    made = DirectResponse(200, "OK", headers, cast("Any", content), asked, lambda given: given.release())
    return made, ends


def test_the_end_of_its_body_gives_its_connection_back():
    connection = Connection()
    response, (end,) = response_on(connection)
    assert not response.closed
    end()
    response.close()
    response.release()
    assert connection.became == ["released"]
    assert response.closed


def test_closing_it_gives_its_connection_up():
    connection = Connection()
    response, (end,) = response_on(connection)
    response.close()
    end()
    assert connection.became == ["closed"]
    assert (response.status, response.headers["content-type"], response.sent) == (200, "application/json", {"A": "b"})


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@asynccontextmanager
async def half_read(end: asyncio.Event) -> AsyncGenerator[tuple[RawServer, aiohttp.ClientSession]]:
    """A server whose streams end when `end` is set, and a session to read them."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"data: x\n\n"))
        await end.wait()
        writer.write(chunk(b""))

    async with fail_after(LONG), raw_server(answer) as server, aiohttp.ClientSession() as session:
        yield server, session


async def test_a_connection_whose_response_ends_in_time_is_used_again():
    end, ended = asyncio.Event(), asyncio.Event()
    async with half_read(end) as (server, session):
        linger = Linger()
        response = await session.get(server.url)
        linger.keep(response)
        assert len(linger) == 1
        response.content.on_eof(ended.set)
        end.set()
        await ended.wait()
        assert len(linger) == 0
        (await session.get(server.url)).close()

        assert server.connections == 1


async def test_a_response_that_does_not_end_is_closed():
    async with half_read(asyncio.Event()) as (server, session):
        linger = Linger()
        response = await session.get(server.url)
        linger.keep(response)
        linger._end(response)

        assert response.closed
        assert len(linger) == 0


async def test_only_so_many_responses_are_kept():
    async with half_read(asyncio.Event()) as (server, session):
        linger = Linger()
        responses = [await session.get(server.url) for _ in range(MOST + 1)]
        for response in responses:
            linger.keep(response)

        assert len(linger) == MOST
        assert [response.closed for response in responses].count(True) == 1
        linger.close()
        assert len(linger) == 0
        assert all(response.closed for response in responses)


async def test_a_response_that_has_ended_is_not_kept():
    end = asyncio.Event()
    end.set()
    async with half_read(end) as (server, session):
        linger = Linger()
        response = await session.get(server.url)
        await response.read()
        linger.keep(response)

        assert len(linger) == 0


async def test_calls_answered_by_streams_share_a_connection():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(event({"id": asked.id, "result": {}})) + chunk(b""))

    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url) as link:
        for _ in range(5):
            await link.send(asking())

        assert server.connections == 1


def test_a_stream_is_kept_for_a_moment_only():
    assert response_module.MOMENT <= 1.0
