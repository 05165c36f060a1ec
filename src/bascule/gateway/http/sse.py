"""Server-sent events (SSE): writer of one event stream, with a keep-alive comment after 15 s of silence."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]

KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment is sent. Proxies cut what is silent for half a minute or a minute."""

COMMENT = b": still here\r\n\r\n"

EVENT_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


def event(data: bytes) -> bytes:
    """One message, as an event."""
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"


class Steady:
    """Sends the parts of one response whose body is a stream. Several tasks may send at the same time. `stop` it in the
    end, however that came: nothing is sent by itself afterwards."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._stopped = False

    async def __call__(self, part: dict[str, Any]) -> None:
        """Waits for a client that reads slowly, and for those who came first."""
        async with self._turn:
            await self._send(part)
            if part["type"] == "http.response.body" and not part.get("more_body", False):
                self.stop()
            elif not self._stopped:
                self._wait()

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._beating is not None:
            self._beating.cancel()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(KEEP_ALIVE, self._beat)

    def _beat(self) -> None:
        if not self._turn.locked():
            part = {"type": "http.response.body", "body": COMMENT, "more_body": True}
            self._beating = asyncio.ensure_future(self(part))
        # Else the client has not even read what was sent before.
