"""Body of a POST: checks the permit in the same step in which bytes are handed to the socket's transport."""

from aiohttp import ClientConnectionResetError
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from bascule.core.errors import BasculeError
from bascule.transports.http.post_state import Exchange

PIECE = 32 * 1024
"""Most bytes handed over at once. Small enough that aiohttp never waits inside the first write, so that what it raises
there means nothing has left; a long body asks for leave again before each piece."""


class Body(Payload):
    """One message. aiohttp keeps the headers back until the first write, so nothing leaves before leave is given."""

    _autoclose = True

    def __init__(self, data: bytes, exchange: Exchange) -> None:
        super().__init__(data, content_type="application/json")
        self._data = data
        self._size = len(data)
        self._exchange = exchange

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._data.decode(encoding, errors)

    def let_go(self) -> None:
        """Its answer was read: what follows on the same socket may be somebody else's."""
        self._exchange.transport = None

    def not_taken(self) -> None:
        """The server did not let us in, so nothing was done with what was sent."""
        self._exchange.handed_over = False

    async def write(self, writer: AbstractStreamWriter) -> None:
        await self.write_with_length(writer, None)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        del content_length  # it is our own size
        if len(self._data) <= PIECE:
            await self._hand_over(self._data, writer)
        else:
            await self._write_long(writer)

    async def _write_long(self, writer: AbstractStreamWriter) -> None:
        transport = writer.transport
        view = memoryview(self._data)
        try:
            for start in range(0, len(view), PIECE):
                await self._hand_over(view[start : start + PIECE], writer)
                await writer.drain()
        except BaseException:
            # Given up, or without leave for the rest. Merely closed, as it may be by now, the transport would still
            # flush what waits in its buffer.
            if transport is not None:
                transport.abort()
            raise

    async def _hand_over(self, piece: bytes | memoryview, writer: AbstractStreamWriter) -> None:
        exchange = self._exchange
        exchange.claim()
        already = exchange.handed_over
        exchange.handed_over = True
        exchange.transport = writer.transport
        try:
            await writer.write(piece)
        except ClientConnectionResetError:
            # The kept-alive connection had ended before this write: the request surely never left.
            exchange.handed_over = already
            raise
        except BasculeError:
            # There is no leave for the whole link.
            exchange.handed_over, exchange.refused = already, True
            raise
