"""One request and its answer over HTTP: JSON, or, where there is something to say before it, a stream of events."""

from typing import Protocol

import msgspec

from bascule.core.jsonvalue import JsonObject
from bascule.gateway.attention import Attention
from bascule.gateway.client import Client
from bascule.gateway.envelope import Asked
from bascule.gateway.rejection import Rejected
from bascule.gateway.steady import EVENT_HEADERS, Send, Steady, event
from bascule.wire.jsonrpc import write_notification, write_result

JSON_HEADERS = [(b"content-type", b"application/json")]


class Serves(Protocol):
    """Who answers a request."""

    async def serve(self, asked: Asked, client: Client | None = None) -> JsonObject | msgspec.Raw:
        """The result. Raises `Rejected`."""
        ...


class Exchange:
    """The answer to one request, which begins to be sent with the first that there is to tell."""

    def __init__(self, send: Send, asked: Asked, *, streams: bool, level: str = "") -> None:
        self._send = send
        self.level = level
        self._asked = asked
        self.streams = streams
        self._steady: Steady | None = None
        """Set once events are sent."""

    async def serve(self, desk: Serves, attention: Attention) -> None:
        try:
            with attention:
                try:
                    result = await desk.serve(self._asked, self)
                except Rejected as rejected:
                    await self._end(rejected.body(self._asked.id), rejected.status)
                else:
                    await self._end(write_result(self._asked.id, result), 200)
            if attention.gone:
                await self._end(b"", 202)
        finally:
            if self._steady is not None:
                self._steady.stop()

    async def tell(self, method: str, params: JsonObject) -> None:
        """Waits for a client that reads slowly."""
        if self._steady is None:
            self._send = self._steady = Steady(self._send)
            await self._send({"type": "http.response.start", "status": 200, "headers": EVENT_HEADERS})
        await self._event(write_notification(method, params), more=True)

    async def _end(self, body: bytes, status: int) -> None:
        """Without a body, where an answer is no longer wanted."""
        if self._steady is not None and not body:
            await self._send({"type": "http.response.body", "body": b""})
        elif self._steady is not None:
            await self._event(body, more=False)
        else:
            await respond(self._send, status, body)

    async def _event(self, data: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": event(data), "more_body": more})


async def respond(send: Send, status: int, body: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """A whole answer."""
    length = (b"content-length", str(len(body)).encode())
    kind = JSON_HEADERS if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*kind, length, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})
