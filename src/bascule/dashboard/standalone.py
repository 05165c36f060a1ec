"""Web server for the dashboard alone, at a port on the loopback. Separate: only `bascule up` needs it, and
the app runs on a gateway's web server without it."""

import asyncio
import socket
from types import TracebackType
from typing import Self

from bascule.dashboard.auth.login import Entrance
from bascule.gateway.http.server import WebServer
from bascule.gateway.mcp.listen import Streams
from bascule.gateway.readiness import Readiness

HOST = "127.0.0.1"


def listen_alone(port: int) -> socket.socket:
    """At this port; at any that is free, if it is taken."""
    for each in (port, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, each))
        except OSError:
            listening.close()
            if each == 0:
                raise
        else:
            listening.listen(64)
            return listening
    raise AssertionError


class Alone:
    """A web server for the dashboard alone, while its block lasts."""

    def __init__(self, app: Entrance, streams: Streams, listening: socket.socket) -> None:
        self._streams = streams
        self._listening = listening
        self._server = WebServer(app, Readiness())
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._serving = asyncio.create_task(self._server.serve(self._listening), name="dashboard")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._serving is not None
        self._streams.close()
        self._server.stop()
        try:
            await self._serving
        finally:
            self._listening.close()
