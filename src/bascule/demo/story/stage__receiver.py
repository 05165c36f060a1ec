"""Somebody on this machine's loopback to whom things can be sent: a send that fails had somewhere to go."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

MOST = 64 * 1024
"""Bytes that are kept of one message."""

MOST_MESSAGES = 1000
"""Messages that are kept. More are taken, and forgotten."""

THANKS = b"+"
"""What a sender waits for, to know that all of it is here."""


class Receiver:
    """Takes whatever is sent to it, until it is closed."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.address = ""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            data = await reader.read(MOST)
            while more := await reader.read(MOST):
                data = (data + more)[:MOST]
            if len(self.messages) < MOST_MESSAGES:
                self.messages.append(data)
            writer.write(THANKS)
            await writer.drain()
        except OSError:
            # Whoever hung up is not to be thanked.
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncGenerator[Receiver]:
    """A receiver at a free port, for as long as the block lasts."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.take, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    receiver.address = f"{host}:{port}"
    try:
        yield receiver
    finally:
        server.close()
        await server.wait_closed()
