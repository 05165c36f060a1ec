"""Web server around an ASGI app: listening sockets, keep-alive, and graceful shutdown (drain)."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from bascule.core.errors import ConfigError
from bascule.gateway.http.connection_limit import Hall
from bascule.gateway.http.head_cache import Shelf
from bascule.gateway.readiness import Readiness

if TYPE_CHECKING:
    from bascule.gateway.http.connection import Connection

BACKLOG = 2048
"""Connections that may wait to be accepted: a burst of a thousand clients is not turned away."""

FAREWELL = 10
"""Seconds that requests under way may take once the gateway was told to stop."""

LAST_WORDS = 1.0
"""Seconds that those may take which had to be given up then."""

HANDSHAKE = 5.0
"""Seconds in which whoever connects has to show who they are, where TLS is spoken."""

KEPT_OPEN = 75.0
"""Seconds for which a connection that is not used is kept. Longer than clients keep theirs: who hangs up first should
be the one who knows that no request is on its way."""

PATIENCE = 10
"""Seconds for which one who retires keeps connections on which nothing is asked. Clients that poll do so within it."""

App = Callable[..., Any]


class WebServer:
    """One web server. `serve` returns when it has stopped; `stop` and `retire` may be asked at any time, once."""

    def __init__(self, app: App, readiness: Readiness, kept_open: float = KEPT_OPEN) -> None:
        self.app = app
        self.hall = Hall()
        self.shelf = Shelf()
        self.kept_open = kept_open
        self.tasks: set[asyncio.Task[None]] = set()
        self.connections: set[Connection] = set()
        self.readiness = readiness
        """From the end on, answers say that their connection is closed after them: a client that is not told may send
        its next request in the very moment in which it is closed."""
        self._doors: list[asyncio.Server] = []
        self._over = asyncio.Event()
        self.stopped = False
        self._left = asyncio.Event()
        self._retiring: asyncio.Task[None] | None = None

    def left(self) -> None:
        """A connection has ended, or a task. Told by those."""
        if not self.connections or self.stopped:
            self._left.set()

    async def serve(
        self,
        *listening: socket.socket,
        on_started: Callable[[], None] | None = None,
        secured: tuple[socket.socket, ssl.SSLContext] | None = None,
    ) -> None:
        """Until it is told to stop. Requests under way are answered first. At the `secured` one TLS is spoken."""
        from bascule.gateway.http.connection import Connection  # noqa: PLC0415 -- what only listens needs no parser

        loop = asyncio.get_running_loop()
        try:
            for each in listening:
                self._doors.append(await loop.create_server(partial(Connection, self), sock=each, backlog=BACKLOG))
            if secured is not None:
                each, tls = secured
                door = await loop.create_server(
                    partial(Connection, self),
                    sock=each,
                    backlog=BACKLOG,
                    ssl=tls,
                    ssl_handshake_timeout=HANDSHAKE,
                    ssl_shutdown_timeout=LAST_WORDS,
                )
                self._doors.append(door)
            if on_started is not None:
                on_started()
            await self._over.wait()
        finally:
            if self._retiring is not None:
                self._retiring.cancel()
            await self._close()

    def stop(self) -> None:
        """Take nobody new, and close every connection: at once where nothing is under way on it, else after its
        answer."""
        self.readiness.end()
        self.stopped = True
        self._over.set()

    def retire(self) -> None:
        """Leave it to others who listen at the same socket to take new connections. Those that are here are served
        until they have had an answer that says so, or were quiet for as long as one is kept open."""
        if self._retiring is None and not self.stopped:
            self._retiring = asyncio.ensure_future(self._retire())

    async def _retire(self) -> None:
        self.readiness.end()
        for door in self._doors:
            door.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self.connections:
                    self._left.clear()
                    await self._left.wait()
        self.stop()

    async def _close(self) -> None:
        for door in self._doors:
            door.close()
        for connection in tuple(self.connections):
            connection.shut()
        if not await self._emptied(FAREWELL):
            for task in tuple(self.tasks):
                task.cancel()
            for connection in tuple(self.connections):
                connection.hang_up()
            await self._emptied(LAST_WORDS)

    async def _emptied(self, within: float) -> bool:
        """Whether all have left in time."""
        try:
            async with asyncio.timeout(within):
                while self.connections or self.tasks:
                    self._left.clear()
                    await self._left.wait()
        except TimeoutError:
            return False
        return True


def listen_at(host: str, port: int, *, named: str, fix: str) -> socket.socket:
    """A TCP socket that listens already. Raises `ConfigError` with the `named` address and the `fix`."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot listen at {named}: {error.strerror}", fix=fix) from error
    return listening
