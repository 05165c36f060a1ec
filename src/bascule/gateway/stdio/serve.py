"""Serving of one MCP client on stdin and stdout, until its input ends or the program is stopped (graceful shutdown)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import msgspec

from bascule.gateway.mcp.handler import Desk
from bascule.gateway.stdio.connection import Connection
from bascule.gateway.stdio.handler import Attendance
from bascule.sandbox.process.pipe_end import PipeEnd

FAREWELL = 10.0
"""Seconds that requests under way may take after the end of input: who pipes a request in waits for its answer. A
client that only wants to be rid of us sends a signal when that takes too long."""

LAST_MOMENT = 1.0
"""Seconds that they may take after a signal. Clients kill what has not ended two seconds later, and servers have to be
closed within these as well."""


class Ends(msgspec.Struct, frozen=True):
    """The two file descriptors of a conversation: pipes or sockets, which are closed when it is over."""

    reading: int
    writing: int


async def serve_stdio(desk: Desk, ends: Ends, max_message: int, stop: asyncio.Event) -> None:
    """Until its input ends, its output is closed, or `stop` is set. Requests under way have a moment then."""
    attendance = Attendance(desk)
    connection = Connection(attendance, max_message)
    async with _open(connection, ends) as ended:
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((ended, connection.gone, stopping), return_when=asyncio.FIRST_COMPLETED)
            finishing = asyncio.ensure_future(connection.finish(FAREWELL))
            await asyncio.wait((finishing, stopping), return_when=asyncio.FIRST_COMPLETED)
            await connection.finish(LAST_MOMENT)
            await finishing
        finally:
            stopping.cancel()
            await attendance.close()


@asynccontextmanager
async def _open(connection: Connection, ends: Ends) -> AsyncGenerator[asyncio.Future[None]]:
    """Gives what is done when the input ends."""
    loop = asyncio.get_running_loop()
    stdin, stdout = _Stdin(connection), _Stdout(connection)
    writing, _ = await loop.connect_write_pipe(lambda: stdout, PipeEnd(ends.writing, "wb"))
    connection.write_to(writing.write)
    reading, _ = await loop.connect_read_pipe(lambda: stdin, PipeEnd(ends.reading, "rb"))
    try:
        yield stdin.ended
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_MOMENT):
                # Sends what is left first, if it is read.
                writing.close()
                await connection.gone
    finally:
        reading.close()
        if not connection.gone.done():
            writing.abort()


class _Stdin(asyncio.Protocol):
    """The pipe that the client writes to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._connection.read_from(transport)

    def data_received(self, data: bytes) -> None:
        self._connection.feed(data)

    def eof_received(self) -> None:
        # A last line may lack its end, where a person wrote it.
        self._connection.feed(b"\n")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- either way it has ended
        if not self.ended.done():
            self.ended.set_result(None)


class _Stdout(asyncio.BaseProtocol):
    """The pipe that the client reads from."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pause_writing(self) -> None:
        self._connection.pause_output()

    def resume_writing(self) -> None:
        self._connection.resume_output()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the same
        self._connection.lose_output()
