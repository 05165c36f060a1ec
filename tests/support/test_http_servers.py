import asyncio
import contextlib
import socket
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from support.http_servers import Asked, aiohttp_server, asgi_server, http_reply, raw_server
from support.waiting import fail_after


def listens(origin: str) -> bool:
    url = URL(origin)
    with socket.socket() as probe:
        return probe.connect_ex((url.host or "", url.port or 0)) == 0


async def hello(scope: dict[str, str], receive: Any, send: Any) -> None:
    """An ASGI app that only starts and stops."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


async def test_an_asgi_server_listens_in_its_block_and_not_after_it():
    async with fail_after(20), asgi_server(hello) as origin:
        assert listens(origin)
    assert not listens(origin)


async def test_an_aiohttp_server_listens_in_its_block_and_not_after_it():
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=request.path)

    app = web.Application()
    app.router.add_get("/{name}", handle)
    async with (
        fail_after(20),
        aiohttp_server(app) as origin,
        aiohttp.ClientSession() as session,
        session.get(f"{origin}/a") as response,
    ):
        assert await response.text() == "/a"
    assert not listens(origin)


async def test_a_raw_server_tells_what_it_was_asked_and_is_gone_after_its_block():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(b"{}"))

    async with fail_after(20), raw_server(answer) as server, aiohttp.ClientSession() as session:
        async with session.post(server.url, data=b'{"method": "a"}') as response:
            assert await response.read() == b"{}"
        asked = await server.next("a")
        assert (asked.method, asked.path, asked.headers["content-length"]) == ("POST", "/mcp", "15")
    assert not listens(server.url)


async def test_a_fault_in_an_answer_fails_the_test_that_gave_it():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        raise LookupError("a mistake in the test")

    async def test() -> None:
        async with raw_server(answer) as server, aiohttp.ClientSession() as session:
            with contextlib.suppress(aiohttp.ClientError):
                await session.get(server.url)

    with pytest.raises(LookupError, match="a mistake"):
        async with fail_after(20):
            await test()
