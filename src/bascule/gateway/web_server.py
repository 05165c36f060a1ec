"""A web server around the gateway, which stops when it is told to: at once, or after those who are there have left."""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from bascule.gateway.attention import Receive
from bascule.gateway.exchange import Send
from bascule.gateway.hall import Hall
from bascule.gateway.readiness import Readiness

if TYPE_CHECKING:
    import uvicorn

BACKLOG = 2048
"""Connections that may wait to be accepted: a burst of a thousand clients is not turned away."""

FAREWELL = 10
"""Seconds that requests under way may take once the gateway was told to stop."""

KEPT_OPEN = 75
"""Seconds for which a connection that is not used is kept. Longer than clients keep theirs: who hangs up first should
be the one who knows that no request is on its way."""

PATIENCE = 10
"""Seconds for which one who retires keeps connections on which nothing is asked. Clients that poll do so within it."""

GLANCE = 0.05
"""Seconds between two looks at who is still there."""

CLOSE = (b"connection", b"close")

App = Callable[..., Any]


class WebServer:
    """One web server. `serve` returns when it has stopped; `stop` and `retire` may be asked at any time, once."""

    def __init__(self, app: App, readiness: Readiness, kept_open: int = KEPT_OPEN) -> None:
        self._app = app
        self._readiness = readiness
        self._kept_open = kept_open
        self._server: uvicorn.Server | None = None
        self._retiring: asyncio.Task[None] | None = None
        self._stopped = False

    async def serve(self, *listening: socket.socket, on_started: Callable[[], None] | None = None) -> None:
        """Until it is told to stop. Requests under way are answered first."""
        self._server = _quiet(self._app, self._kept_open, on_started)
        self._server.should_exit = self._stopped
        try:
            await self._server.serve(sockets=[*listening])
        finally:
            if self._retiring is not None:
                self._retiring.cancel()

    def stop(self) -> None:
        """Take nobody new, and close every connection: at once where nothing is under way on it, else after its
        answer."""
        self._stopped = True
        self._readiness.end()
        if self._server is not None:
            self._server.should_exit = True

    def retire(self) -> None:
        """Leave it to others who listen at the same socket to take new connections. Those that are here are served
        until they have had an answer that says so (see `Parting`), or were quiet for as long as one is kept
        open."""
        if self._retiring is None and not self._stopped:
            self._retiring = asyncio.ensure_future(self._retire())

    async def _retire(self) -> None:
        self._readiness.end()
        server = self._server
        if server is not None and server.started:
            for each in server.servers:
                each.close()
            until = asyncio.get_running_loop().time() + PATIENCE
            # The web server tells nobody when a connection ends.
            while server.server_state.connections and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
                await asyncio.sleep(GLANCE)
        self.stop()


class Parting:
    """An app whose answers say, from the end on, that their connection is closed after them: a client that is not told
    may send its next request in the very moment in which it is closed."""

    def __init__(self, app: App, readiness: Readiness) -> None:
        self._app = app
        self._readiness = readiness

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        async def told(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start" and self._readiness.draining:
                event = {**event, "headers": [*event.get("headers", ()), CLOSE]}
            await send(event)

        await self._app(scope, receive, told)


def _quiet(app: App, kept_open: int, on_started: Callable[[], None] | None) -> "uvicorn.Server":
    import uvicorn  # noqa: PLC0415 -- half a second

    from bascule.gateway.http_connection import Connection  # noqa: PLC0415 -- the same

    class Server(uvicorn.Server):
        """One that leaves signals to the program it is a part of."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if on_started is not None:
                on_started()

    options: dict[str, Any] = {
        "lifespan": "off",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "ws": "none",
        "proxy_headers": False,
        "backlog": BACKLOG,
        "http": partial(Connection, Hall()),
        "timeout_keep_alive": kept_open,
        "timeout_graceful_shutdown": FAREWELL,
    }
    return Server(uvicorn.Config(app, **options))
