"""The sockets of one link over HTTP: none is made or written to without leave, and all of them can be cut in one step.

Above: endpoints, WebSockets, the requests of a login. Below: aiohttp's connectors.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from aiohttp import BaseConnector, ClientRequest, ClientTimeout, TCPConnector, UnixConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.tracing import Trace

from bascule.core.errors import ConnectionLost
from bascule.core.request import Permit
from bascule.transports.dispatcher import may_write, no_leave
from bascule.transports.http_familiar import Replies


class Sockets:
    """All sockets that one link has made and that may still hold something of ours."""

    def __init__(self, leave: Permit | None = None) -> None:
        self.leave = leave
        self.severed = False
        """Whether nothing may leave any more, ever."""
        self._made: list[asyncio.Transport] = []

    def connector(self, path: str | None = None, **terms: Any) -> BaseConnector:
        """What makes them: to any host, or to the socket file of this path."""
        return _Tcp(self, **terms) if path is None else _Unix(self, path, **terms)

    def may_write(self) -> bool:
        return not self.severed and may_write(self.leave)

    def ask(self) -> None:
        """Raise unless something may be written in this step."""
        if self.severed:
            raise ConnectionLost("the connection was severed", sent=False)
        if not may_write(self.leave):
            raise no_leave()

    def sever(self) -> None:
        """Let nothing more leave, also of what is buffered."""
        self.severed = True
        self.abort()

    def abort(self) -> None:
        """Close all that are open now, without what they have not sent yet."""
        for transport in self._made:
            transport.abort()
        self._made = []

    def drop_backlogs(self, but: Iterable[asyncio.BaseTransport | None] = ()) -> None:
        """Close those in whose buffer something waits, except these. A server may answer what it has not read."""
        spared = {id(transport) for transport in but}
        for transport in self._made:
            if id(transport) not in spared and transport.get_write_buffer_size():
                transport.abort()

    def take(self, protocol: ResponseHandler) -> ResponseHandler:
        """Guard the socket of a connection that has just been made."""
        transport = protocol.transport
        assert transport is not None
        if self.severed:
            protocol.abort()
            self.ask()
        if self.leave is not None:
            protocol.transport = transport = Guarded(transport, self)
        # One that was closed lives on until its buffer is empty.
        self._made = [one for one in self._made if not one.is_closing() or one.get_write_buffer_size()]
        self._made.append(transport)
        return protocol


class Guarded(asyncio.Transport):
    """A socket's transport that asks for leave in the step in which bytes are handed to it, whoever hands them."""

    def __init__(self, inner: asyncio.Transport, sockets: Sockets) -> None:
        super().__init__()
        self.inner = inner
        self._sockets = sockets

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._sockets.ask()
        self.inner.write(data)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self._sockets.ask()
        self.inner.writelines(list_of_data)

    def close(self) -> None:
        # Closing flushes what is buffered, and over TLS says goodbye.
        if self._sockets.may_write():
            self.inner.close()
        else:
            self.inner.abort()

    def abort(self) -> None:
        self.inner.abort()

    def is_closing(self) -> bool:
        return self.inner.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.inner.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self.inner.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self.inner.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.inner.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        self.inner.resume_reading()

    def is_reading(self) -> bool:
        return self.inner.is_reading()

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.inner.get_protocol()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.inner.set_protocol(protocol)

    def can_write_eof(self) -> bool:
        return self.inner.can_write_eof()

    def write_eof(self) -> None:
        self.inner.write_eof()


class Frugal(ResponseHandler):
    """One connection, which keeps its parser for as long as every request wants the same of it, and nothing else from
    one request to the next. Where there are many connections, what each has held for a while is let go of just when the
    processor has long forgotten it: that cost a call a seventh of its time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._terms: dict[str, Any] | None = None
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

    def set_response_params(self, **terms: Any) -> None:
        if terms != self._terms:
            self._terms = terms
            super().set_response_params(**terms)

    def rest(self) -> None:
        """Nobody reads the last response any more."""
        if self._payload is not None and self._payload.is_eof():
            self._payload = None


class _Tcp(TCPConnector):
    def __init__(self, sockets: Sockets, **terms: Any) -> None:
        super().__init__(**terms)  # pyright: ignore[reportUnknownMemberType] -- aiohttp leaves an address untyped
        self._factory = partial(Frugal, loop=self._loop)
        self._sockets = sockets

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout
    ) -> ResponseHandler:
        # Looking up a name and shaking hands tell already whom we want to speak to.
        self._sockets.ask()
        return self._sockets.take(await super()._create_connection(req, traces, timeout))


class _Unix(UnixConnector):
    def __init__(self, sockets: Sockets, path: str, **terms: Any) -> None:
        super().__init__(path, **terms)
        self._factory = partial(Frugal, loop=self._loop)
        self._sockets = sockets

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout
    ) -> ResponseHandler:
        self._sockets.ask()
        return self._sockets.take(await super()._create_connection(req, traces, timeout))
