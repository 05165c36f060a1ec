"""Sockets of one link over HTTP: opened and written only while the link has leave (its permit), and closed in one
step."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from aiohttp import BaseConnector, ClientRequest, ClientTimeout, TCPConnector, UnixConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.tracing import Trace

from bascule.core.errors import ConnectionLost
from bascule.core.request import Permit
from bascule.transports.dispatcher import may_write, no_leave


class Sockets:
    """All sockets that one link uses, or that may still hold something of its."""

    __slots__ = (
        "_made",
        "leave",
        "lent",
        "severed",
    )

    def __init__(self, leave: Permit | None = None) -> None:
        self.leave = leave
        self.severed = False
        """Whether nothing may leave any more, ever."""
        self.lent: Sequence[Sequence[Guarded]] = ()
        """Those of each host that we ask, of which we may hold some."""
        self._made: list[Guarded] = []

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
        for transport in self._held():
            transport.abort()

    def close(self) -> None:
        """Close all that are open now. What they have not sent yet may leave as long as anything may."""
        for transport in self._held():
            transport.close()

    def drop_backlogs(self, but: Iterable[asyncio.BaseTransport | None] = ()) -> None:
        """Close those in whose buffer something waits, except these. A server may answer what it has not read."""
        spared = {id(transport) for transport in but}
        for transport in self._held():
            if id(transport) not in spared and transport.get_write_buffer_size():
                transport.abort()

    def take(self, protocol: ResponseHandler) -> ResponseHandler:
        """Keep the socket of a connection that has just been made for us alone."""
        self._made = [*still_open(self._made), self.guard(protocol)]
        return protocol

    def guard(self, protocol: ResponseHandler) -> "Guarded":
        """See to it that a connection that has just been made is written to under our leave."""
        transport = protocol.transport
        assert transport is not None
        if self.severed:
            protocol.abort()
            self.ask()
        protocol.transport = guarded = Guarded(transport, self)
        return guarded

    def _held(self) -> "list[Guarded]":
        return [one for one in chain(self._made, *self.lent) if one.holder is self]


class Guarded(asyncio.Transport):
    """A socket's transport that asks for leave in the step in which bytes are handed to it, whoever hands them."""

    def __init__(self, inner: asyncio.Transport, holder: Sockets) -> None:
        super().__init__()
        self.inner = inner
        self.holder = holder

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.holder.ask()
        self.inner.write(data)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.holder.ask()
        self.inner.writelines(list_of_data)

    def close(self) -> None:
        # Closing flushes what is buffered, and over TLS says goodbye.
        if self.holder.may_write():
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


NOBODY = Sockets()
"""Holds the connections that wait for a request: nothing is written to them."""
NOBODY.severed = True


def still_open(made: Iterable[Guarded]) -> list[Guarded]:
    """Those that may still hold something. One that was closed lives on until its buffer is empty."""
    return [one for one in made if not one.is_closing() or one.get_write_buffer_size()]


class _Tcp(TCPConnector):
    def __init__(self, sockets: Sockets, **terms: Any) -> None:
        super().__init__(**terms)  # pyright: ignore[reportUnknownMemberType] -- aiohttp leaves an address untyped
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
        self._sockets = sockets

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout
    ) -> ResponseHandler:
        self._sockets.ask()
        return self._sockets.take(await super()._create_connection(req, traces, timeout))
