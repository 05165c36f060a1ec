"""HTTP responses, of aiohttp's client or of a direct POST. A response whose body was read but has not ended lingers for
1 s, so that its connection can be reused."""

import asyncio
from collections.abc import Callable, Mapping

from aiohttp import ClientResponse, StreamReader
from aiohttp.connector import Connection
from multidict import CIMultiDictProxy

from bascule.identity.oauth.ssrf_guard import peer_address
from bascule.transports.http.connections import Frugal
from bascule.transports.http.response_head_cache import WholeReply

DEMANDS = frozenset({401, 403})
"""Statuses of a response with a challenge."""


class PeerResponse(ClientResponse):
    """Response of aiohttp's client with the peer address of its connection, which aiohttp forgets at the end of the
    body."""

    peer = ""

    async def start(self, connection: Connection) -> ClientResponse:
        self.peer = _peer_of(connection)
        return await super().start(connection)


class DirectResponse:
    """One that came to a request of our own. It gives its connection back when its body was read to the end."""

    __slots__ = ("_connection", "_put", "content", "headers", "peer", "reason", "sent", "status")

    def __init__(
        self,
        status: int,
        reason: str | None,
        headers: CIMultiDictProxy[str],
        content: StreamReader,
        asked: tuple[Connection, Mapping[str, str]],
        put: Callable[[Connection], None],
    ) -> None:
        """`put` takes the connection in the end, and sees whether it can be used again."""
        self.status = status
        self.reason = reason
        self.headers = headers
        self.content = content
        self._connection: Connection | None
        self._connection, self.sent = asked
        """The connection, and the headers of the request beside those that all have."""
        self.peer = _peer_of(asked[0]) if status in DEMANDS else ""
        """Peer address of the connection that gave a challenge."""
        self._put = put
        content.on_eof(self.release)

    @property
    def closed(self) -> bool:
        return self._connection is None

    def close(self) -> None:
        """Take nothing more, and give up the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def release(self) -> None:
        """Take nothing more. The connection goes on if the body was read, and is given up otherwise."""
        connection, self._connection = self._connection, None
        if connection is not None:
            protocol = connection.protocol
            self._put(connection)
            if isinstance(protocol, Frugal):
                protocol.rest()


def peer_of(response: "Response") -> str:
    """Peer address of the connection that gave a challenge; empty for a Unix socket."""
    return response.peer if isinstance(response, PeerResponse | DirectResponse) else ""


def _peer_of(connection: Connection) -> str:
    transport = connection.transport
    return peer_address(transport.get_extra_info("peername")) if transport is not None else ""


Response = ClientResponse | DirectResponse
"""What is read of either is the same."""

Received = Response | WholeReply
"""What comes back to a POST."""

MOMENT = 1.0
"""Seconds a stream may stay open behind its reply. A server ends it in the same breath, or not at all."""

MOST = 32
"""Responses kept at once. Each holds a socket."""


class Linger:
    """The open ends of one link's finished requests. When an end comes in time, aiohttp takes the connection back."""

    def __init__(self) -> None:
        self._timers: dict[Response, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def keep(self, response: Response) -> None:
        if response.closed:
            return
        if len(self._timers) >= MOST:
            response.close()
            return
        self._timers[response] = asyncio.get_running_loop().call_later(MOMENT, self._end, response)
        response.content.on_eof(lambda: self._forget(response))

    def close(self) -> None:
        for response in [*self._timers]:
            self._forget(response)
            response.close()

    def _end(self, response: Response) -> None:
        self._forget(response)
        response.close()

    def _forget(self, response: Response) -> None:
        timer = self._timers.pop(response, None)
        if timer is not None:
            timer.cancel()
