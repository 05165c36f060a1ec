"""Keep-alive connections to one host, for one link or for several that differ only in their path; each request takes
one."""

import asyncio
from collections import deque
from functools import partial
from time import monotonic
from typing import Any, cast

from aiohttp import BaseConnector, ClientRequest, ClientTimeout, TCPConnector, UnixConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from bascule.transports.http.response_head_cache import Replies
from bascule.transports.http.sockets import NOBODY, Guarded, Sockets, still_open

MOST_HEADS = 4096
"""Heads that are kept: one for each name of a tool, as a rule. A resource has a name as well, of which there may be any
number."""

KEPT = 15.0
"""Seconds that one is kept unused, as aiohttp has it: servers hang up on idle clients too, and a request must not leave
in the moment in which they do."""

BUFFER = 64 * 1024
"""Bytes of a body that are taken in before the server is held up: as aiohttp's own client has it."""


class Frugal(ResponseHandler):
    """One connection, which keeps its parser, as every request wants the same of it, and nothing else from one to the
    next. Where there are many connections, what each has held for a while is let go of just when the processor has long
    forgotten it: that cost a call a seventh of its time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.replies: Replies | None = None
        """How replies look, from when one is asked for until something comes."""
        self.begun = b""
        """What came first of a response that aiohttp has read, if more can be known from it."""

    def data_received(self, data: bytes) -> None:
        replies = self.replies
        if replies is not None and data:
            self.replies = None
            reply = replies.recognise(data)
            if reply is not None:
                # Whoever waits for a message and its body takes this as well.
                self.feed_data(cast("Any", reply))
                return
            if replies.curious:
                self.begun = data
        super().data_received(data)

    def rest(self) -> None:
        """Nobody reads the last response any more."""
        if self._payload is not None and self._payload.is_eof():
            self._payload = None


class Host:
    """Lends a connection to one request after the other: the one that was used last goes first, so that those of a busy
    moment are closed when it is over. Whoever has one is its holder: it is written to under the leave of that link, and
    cut with that link. One that waits is nobody's, and holds nothing.

    aiohttp would keep them as well, and look for one under a key that is made anew for each request, in a queue that is
    made anew whenever it was empty: where there are many servers, that took a fifteenth of the time of a call.
    """

    def __init__(self, socket: str | None = None) -> None:
        """With `socket`, it is reached through the socket file of this path."""
        self._connector: BaseConnector = TCPConnector(limit=0) if socket is None else UnixConnector(socket, limit=0)
        made: partial[ResponseHandler] = partial(Frugal, loop=asyncio.get_running_loop())
        # aiohttp has no public name for it.
        self._connector._factory = made  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self.sockets: list[Guarded] = []
        """Of all connections that are open, whoever holds them. Always this very list."""
        self.heads: dict[object, bytes] = {}
        """What is said to it, by the headers of which it is made. All who say it have the same other headers."""
        self._waiting: deque[tuple[Connection, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Connections that wait for their next request."""
        return len(self._waiting)

    def take(self, holder: Sockets) -> Connection | None:
        """One that is there already, on which a request can be written now."""
        while self._waiting:
            connection, since = self._waiting.pop()
            protocol = connection.protocol
            if (
                protocol is not None
                and isinstance(transport := protocol.transport, Guarded)
                and not transport.is_closing()
                and monotonic() - since <= KEPT
                # It has said something that nobody asked for, which would be taken for the answer.
                and not protocol.should_close
            ):
                transport.holder = holder
                return connection
            connection.close()
        return None

    async def connect(self, request: ClientRequest, timeout: ClientTimeout, holder: Sockets) -> Connection:
        """A new one. The request only tells where to; it is not sent."""
        # Looking up a name and shaking hands tell already whom we want to speak to.
        holder.ask()
        connection = await self._connector.connect(request, [], timeout)
        try:
            protocol = connection.protocol
            assert protocol is not None
            guarded = holder.guard(protocol)
            protocol.set_response_params(
                read_until_eof=True, auto_decompress=False, read_bufsize=BUFFER, read_timeout=None
            )
        except BaseException:
            connection.close()
            raise
        self.sockets[:] = [*still_open(self.sockets), guarded]
        return connection

    def give_back(self, connection: Connection) -> None:
        """Nothing more is expected on it. One that cannot be used again is closed."""
        protocol = connection.protocol
        if (
            protocol is None
            or protocol.should_close
            or not isinstance(transport := protocol.transport, Guarded)
            # The server has answered without reading all of the request. What is left is cut with its link.
            or transport.get_write_buffer_size()
        ):
            connection.close()
            return
        transport.holder = NOBODY
        self._waiting.append((connection, monotonic()))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEPT, self._tend)

    def keep_head(self, headers: object, told: bytes) -> bytes:
        if len(self.heads) >= MOST_HEADS:
            self.heads.clear()
        self.heads[headers] = told
        return told

    async def close(self) -> None:
        """Close those that wait, and those that are lent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            self._waiting.popleft()[0].close()
        await self._connector.close()

    def _tend(self) -> None:
        """Close those that have waited long enough."""
        self._timer = None
        now = monotonic()
        while self._waiting and now - self._waiting[0][1] >= KEPT:
            self._waiting.popleft()[0].close()
        if self._waiting:
            left = KEPT - (now - self._waiting[0][1])
            self._timer = asyncio.get_running_loop().call_later(left, self._tend)
