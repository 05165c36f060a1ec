"""An HTTP server that answers short requests, and leaves the body of long ones unread until it is told to listen."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from servers.echo import answer
from support.http_servers import http_reply, result_body

LONG = 100_000
"""Bytes from which on a body is left unread."""

SIZE = 8 * 1024 * 1024
"""Bytes of a body that no socket holds unread."""

BRIEF = {"content": [{"type": "text", "text": "heard"}], "resultType": "complete"}


class HalfDeaf:
    """The server. What it has read whole is in `heard`."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.heard: list[bytes] = []
        self.listening = asyncio.Event()
        self.stuck = 0
        """Bodies that wait to be read."""
        self._tasks: set[asyncio.Task[None]] = set()

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                size = int(head.partition("content-length:")[2].split("\r\n")[0])
                if size > LONG:
                    self.stuck += 1
                    await self.listening.wait()
                    self.stuck -= 1
                body = await reader.readexactly(size)
                self.heard.append(body)
                message = json.loads(body)
                result = BRIEF if size > LONG else answer(message)
                writer.write(http_reply(result_body(message["id"], result)) if "id" in message else http_reply())


@asynccontextmanager
async def half_deaf() -> AsyncGenerator[HalfDeaf]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # What the system holds for a reader is inherited from here, and would grow otherwise.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        server = HalfDeaf(listener.getsockname()[1])
        async with await asyncio.start_server(server.connected, sock=listener):
            try:
                yield server
            finally:
                await server.stop()
