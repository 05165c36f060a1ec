"""A server of HTTP+SSE that a test plays: it names its endpoint, keeps what is posted, and says what the test says."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bascule.transports.http.legacy_sse import SseDispatcher
from support.http_servers import Asked, RawServer, event, http_reply, raw_server, stream_head
from support.waiting import fail_after

ACCEPTED = http_reply(b"Accepted", "202 Accepted", "text/plain")
LONG = 20.0


class SsePeer:
    """One such server. `opening` is what a GET is answered with; `posted`, if any, what a POST is."""

    def __init__(self, opening: bytes | None = None, posted: bytes | None = ACCEPTED) -> None:
        self.opening = opening if opening is not None else stream_head() + named("/messages?session=1")
        self.posted = posted
        self.answering = True
        """Whether requests are answered on the stream: with what `results` has for the method, or with its name."""
        self.results: Mapping[str, Any] = {}
        self.turned_away = http_reply(b"Cannot POST /sse", "404 Not Found", "text/html")
        """What a POST to the event stream itself is answered with, as those do who speak streamable HTTP."""
        self.server: RawServer
        self._stream: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/sse"

    @property
    def messages(self) -> list[Any]:
        return [asked.message for asked in self.server.asked if asked.body]

    async def say(self, *what: bytes | dict[str, Any]) -> None:
        """Say it on the stream: bytes as they are, a dict as a message."""
        writer = await self._stream
        for each in what:
            writer.write(each if isinstance(each, bytes) else event(each))
        await writer.drain()

    async def cut(self) -> None:
        (await self._stream).transport.abort()

    async def answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET":
            writer.write(self.opening)
            if self._stream.done():
                self._stream = asyncio.get_running_loop().create_future()
            self._stream.set_result(writer)
            return
        if asked.path == "/sse":
            writer.write(self.turned_away)
            return
        if self.posted is not None:
            writer.write(self.posted)
        if self.answering and "id" in asked.message and "method" in asked.message:
            method = asked.message["method"]
            await self.say({"id": asked.id, "result": self.results.get(method, {"asked": method})})


WORKING: Mapping[str, Any] = {
    "initialize": {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "old", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
}
"""The results of a server that works."""


def named(endpoint: str | bytes) -> bytes:
    """The event that names an endpoint."""
    told = endpoint if isinstance(endpoint, bytes) else endpoint.encode()
    return b"event: endpoint\ndata: " + told + b"\n\n"


@asynccontextmanager
async def sse_peer(opening: bytes | None = None, posted: bytes | None = ACCEPTED) -> AsyncGenerator[SsePeer]:
    peer = SsePeer(opening, posted)
    async with fail_after(LONG, "the life of a peer"), raw_server(peer.answer) as server:
        peer.server = server
        yield peer


@asynccontextmanager
async def working_peer() -> AsyncGenerator[SsePeer]:
    """One that can be linked to, and has a tool `act`."""
    async with sse_peer() as peer:
        peer.results = WORKING
        yield peer


@asynccontextmanager
async def sse_link(
    peer: SsePeer,
    headers: Mapping[str, str] | None = None,
    *,
    max_message: int = 1_000_000,
    connect_timeout: float = LONG,
) -> AsyncGenerator[SseDispatcher]:
    """A dispatcher that has begun to connect."""
    dispatcher = SseDispatcher(peer.url, headers or {}, max_message=max_message, connect_timeout=connect_timeout)
    await dispatcher.open()
    try:
        yield dispatcher
    finally:
        async with fail_after(LONG, "closing the link"):
            await dispatcher.close(2.0)
