"""POST that is written straight to a connection of aiohttp, head and body in one write. aiohttp's client copies the
headers five times and starts a task per body; only its connections and its parser are used."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import (
    ClientConnectionResetError,
    ClientRequest,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
    RequestInfo,
    hdrs,
)
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from bascule.core.errors import BasculeError
from bascule.transports.http.connections import Frugal, Host
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import DirectResponse
from bascule.transports.http.response_head_cache import Replies, WholeReply
from bascule.transports.http.sockets import Sockets


class Direct:
    """Requests to one URL, on connections to its host."""

    __slots__ = (
        "_line",
        "_replies",
        "_request",
        "_session",
        "_sockets",
        "_timeout",
        "host",
        "url",
    )

    def __init__(self, session: ClientSession, url: URL, connect_timeout: float, host: Host, sockets: Sockets) -> None:
        """A session has the headers of all its requests. The sockets are those of the link."""
        self.url = url
        self._session = session
        self._timeout = ClientTimeout(total=None, sock_connect=connect_timeout)
        self._line = b"POST %b HTTP/1.1\r\n" % url.raw_path_qs.encode("ascii")
        self.host = host
        self._sockets = sockets
        self._replies = Replies()
        self._request = self._made({})
        """Tells aiohttp where to connect to; it is never sent itself."""

    async def post(self, data: bytes, exchange: Exchange, headers: Mapping[str, str]) -> DirectResponse | WholeReply:
        """Send a message of at most `PIECE` bytes, under the terms of its exchange. Raises what aiohttp's client does,
        and `PermitLost` where there is no leave."""
        head = self._head(headers, len(data))
        connection = self.host.take(self._sockets) or await self._connection()
        try:
            protocol = connection.protocol
            assert isinstance(protocol, Frugal)
            protocol.replies = self._replies
            _hand_over(head + data, connection, exchange)
            return await self._response(connection, protocol, exchange, headers)
        except BaseException:
            connection.close()
            raise

    async def _connection(self) -> Connection:
        try:
            return await self.host.connect(self._request, self._timeout, self._sockets)
        except TimeoutError as error:
            raise ConnectionTimeoutError(f"Connection timeout to host {self.url}") from error

    async def _response(
        self, connection: Connection, protocol: Frugal, exchange: Exchange, sent: Mapping[str, str]
    ) -> DirectResponse | WholeReply:
        while True:
            try:
                received: Any = await protocol.read()
            except HttpProcessingError as error:
                asked = self._request
                info = RequestInfo(asked.url, asked.method, CIMultiDictProxy(CIMultiDict[str]()), asked.url)
                raise ClientResponseError(info, (), status=error.code, message=error.message) from error
            if isinstance(received, WholeReply):
                self._give_back(exchange, connection)
                return received
            message, content = received
            if protocol.begun:
                self._replies.learn(protocol.begun, message)
                protocol.begun = b""
            # What comes before the response itself (100 Continue, early hints) says nothing that we asked for.
            if not 100 <= message.code < 200 or message.code == 101:
                asked, put = (connection, sent), partial(self._give_back, exchange)
                return DirectResponse(message.code, message.reason, message.headers, content, asked, put)

    def _give_back(self, exchange: Exchange, connection: Connection) -> None:
        # It may be another link's in a moment: what is done to this request must not be done to it.
        exchange.transport = None
        self.host.give_back(connection)

    def _head(self, headers: Mapping[str, str], length: int) -> bytes:
        key = tuple(headers.items())
        told = self.host.heads.get(key) or self.host.keep_head(key, _written(self._made(headers)))
        return b"%b%bContent-Length: %d\r\n\r\n" % (self._line, told, length)

    def _made(self, headers: Mapping[str, str]) -> ClientRequest:
        """The request as aiohttp's client would make it: it knows what belongs to a host and to a URL."""
        given = CIMultiDict(self._session.headers)
        given.update(headers)
        given[hdrs.CONTENT_TYPE] = "application/json"
        return ClientRequest(
            hdrs.METH_POST, self.url, headers=given, data=b"", loop=asyncio.get_running_loop(), session=self._session
        )


def _hand_over(data: bytes, connection: Connection, exchange: Exchange) -> None:
    """In one step, for which there is leave."""
    transport = connection.transport
    if transport is None or transport.is_closing():
        # The kept-alive connection has ended: nothing left.
        raise ClientConnectionResetError("Cannot write to closing transport")
    exchange.claim()
    exchange.handed_over = True
    exchange.transport = transport
    try:
        transport.write(data)
    except BasculeError:
        # There is no leave for the whole link.
        exchange.handed_over, exchange.refused = False, True
        raise


def _written(request: ClientRequest) -> bytes:
    """The head without its first line, which is the URL's, and without its length, which is each message's own."""
    del request.headers[hdrs.CONTENT_LENGTH]
    lines = [f"{name}: {value}" for name, value in request.headers.items()]
    for line in lines:
        if not line.isprintable() and _has_control(line):
            raise ValueError("a header has a control character in it")
    return "".join(f"{line}\r\n" for line in lines).encode()


def _has_control(line: str) -> bool:
    """A tab may stand in a value; whatever could end a line may not."""
    return any((ord(char) < 32 and char != "\t") or ord(char) == 127 for char in line)
