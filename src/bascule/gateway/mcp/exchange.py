"""HTTP response to one MCP request: JSON, or an SSE stream if notifications or server requests precede the result."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

import msgspec

from bascule.core.json_types import JsonObject
from bascule.gateway.errors import Rejected
from bascule.gateway.http.disconnect import Attention
from bascule.gateway.http.request import HttpRequest
from bascule.gateway.http.sse import COMMENT, EVENT_HEADERS, Send, Steady, event
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.sessions import OldSession
from bascule.wire.jsonrpc import write_notification, write_result
from bascule.wire.request_meta import CAPABILITIES_KEY

JSON_HEADERS = [(b"content-type", b"application/json")]


class Serves(Protocol):
    """Who answers a request."""

    def serve(self, asked: Asked, client: Client | None = None) -> Awaitable[JsonObject | msgspec.Raw]:
        """The result. Raises `Rejected`."""
        ...


NOTHING: Mapping[str, Any] = {}


class Exchange:
    """The answer to one request, which begins to be sent with the first that there is to tell."""

    __slots__ = ("_asked", "_attention", "_ended", "_keeping", "_send", "_session", "_steady", "level", "streams")

    def __init__(
        self, send: Send, asked: Asked, *, streams: bool, level: str = "", session: OldSession | None = None
    ) -> None:
        self._send = send
        self.level = level
        self._asked = asked
        self._session = session
        self._attention: Attention | None = None
        self.streams = streams
        self._steady: Steady | None = None
        """Set once events are sent."""
        self._keeping: asyncio.Task[None] | None = None
        self._ended = False

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Each request of the new era says it. The old one said it when its session began, and is asked on a stream."""
        if self._asked.new:
            said: JsonObject | None = self._asked.meta.get(CAPABILITIES_KEY)
            return said if isinstance(said, dict) else NOTHING
        return self._session.capabilities if self._session is not None and self.streams else NOTHING

    async def serve(self, desk: Serves, attention: Attention) -> None:
        self._attention = attention
        if self.streams:
            attention.awaited = self
        try:
            with attention:
                try:
                    result = await desk.serve(self._asked, self)
                except Rejected as rejected:
                    await self._end(rejected.body(self._asked.id), rejected.status)
                else:
                    body = write_result(self._asked.id, result)
                    if self._ended or self._steady is not None or not answered(self._send, 200, body):
                        await self._end(body, 200)
                    self._ended = True
            if attention.gone:
                await self._end(b"", 202)
        finally:
            if self._keeping is not None:
                self._keeping.cancel()
            if self._steady is not None:
                self._steady.stop()

    def keep_up(self) -> None:
        """Begin the stream of events, whose silence is broken from here on: proxies cut a connection on which nothing
        comes for long."""
        if self._steady is None and not self._ended:
            self._keeping = asyncio.ensure_future(self._begin())

    async def tell(self, method: str, params: JsonObject) -> None:
        """Waits for a client that reads slowly."""
        await self._say(write_notification(method, params))

    async def ask(self, method: str, params: JsonObject) -> Any:
        """By a request on the stream of its own request."""
        session = self._session
        if session is None or not self.streams or self._ended:
            raise NotAnswered("it cannot be reached")
        if self._asked.bulk is not None:
            # Where it cannot be: an answer that is not large needs no room.
            self._asked.bulk.set_aside()
        return await session.ask(self._say, method, params)

    def send_away(self, server: str, theirs: str) -> str:
        # Without a session it offers nothing, so that nobody asks.
        return theirs if self._session is None else self._session.outlet.send_away(server, theirs)

    async def let_go(self, result: JsonObject) -> None:
        assert self._attention is not None
        self._attention.let_go()
        await self._end(write_result(self._asked.id, result), 200)

    def give_up(self) -> None:
        if self._attention is not None:
            self._attention.give_up()

    async def _say(self, message: bytes) -> None:
        if self._steady is None and not self._ended:
            await self._start()
        # Its request may have been answered meanwhile.
        if not self._ended:
            await self._event(message, more=True)

    async def _begin(self) -> None:
        if self._steady is None and not self._ended:
            await self._start()
            # The answer may be there by now, and is the last that is sent.
            if not self._ended:
                await self._send({"type": "http.response.body", "body": COMMENT, "more_body": True})

    async def _start(self) -> None:
        self._send = self._steady = Steady(self._send)
        await self._send({"type": "http.response.start", "status": 200, "headers": EVENT_HEADERS})

    async def _end(self, body: bytes, status: int) -> None:
        """Without a body, where an answer is no longer wanted. Only the first of two ends counts."""
        if self._ended:
            return
        self._ended = True
        if self._steady is not None and not body:
            await self._send({"type": "http.response.body", "body": b""})
        elif self._steady is not None:
            await self._event(body, more=False)
        else:
            await respond(self._send, status, body)

    async def _event(self, data: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": event(data), "more_body": more})


def answered(send: Send, status: int, body: bytes) -> bool:
    """Send a whole answer of JSON at once, where that can be done. False, with nothing done, where it cannot."""
    return isinstance(send, HttpRequest) and send.answer(status, body)


async def respond(send: Send, status: int, body: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """A whole answer."""
    if body and headers is None and answered(send, status, body):
        return
    length = (b"content-length", str(len(body)).encode())
    kind = JSON_HEADERS if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*kind, length, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})
