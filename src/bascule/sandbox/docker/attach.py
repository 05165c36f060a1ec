"""Output of a process in a container over an attached stream, read from before its start; the last 64 KiB are kept."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bascule.core.errors import ConnectFailed
from bascule.sandbox.docker.api import ANSWER_WITHIN, Engine, EngineRefused, read_answer, request_head, unreachable
from bascule.wire.docker_stream import DockerStream

KEPT = 64 * 1024
"""Bytes of output that are kept: the end of it."""


class Listening:
    """An ear at one process. Both of its outputs are heard as one, in the order in which they come."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._stream = DockerStream()
        self.heard = bytearray()

    async def begin(self) -> None:
        """Wait until the engine has put us through."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            status = read_answer(head).status
            if status not in {101, 200}:
                raise EngineRefused(status, read_answer(head + await self._reader.read(KEPT)).message, where="box")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
            raise EngineRefused(0, "it hung up", where="box") from error

    def end_input(self) -> None:
        """The process is given nothing to read."""
        self._writer.write_eof()

    async def until(self, sign: bytes) -> bool:
        """Listen until this is heard, or nothing more can be. Whether it was."""
        while sign not in self.heard:
            if not await self._more():
                return False
        return True

    async def to_the_end(self) -> None:
        while await self._more():
            pass

    @property
    def text(self) -> str:
        return self.heard.decode("utf-8", "replace").strip()

    async def _more(self) -> bool:
        try:
            data = await self._reader.read(64 * 1024)
        except ConnectionError:
            return False
        for _, piece in self._stream.feed(data):
            self.heard += piece
        del self.heard[:-KEPT]
        return bool(data) and self._stream.violation is None


@asynccontextmanager
async def listening_to(engine: Engine, path: str, body: bytes = b"") -> AsyncGenerator[Listening]:
    """An ear at what the engine puts through there: a container that has not been started, or a run in one."""
    try:
        reader, writer = await asyncio.open_unix_connection(engine.socket)
    except OSError as error:
        raise unreachable(engine.socket, error) from error
    try:
        head = request_head(f"POST {path} HTTP/1.1", len(body), "Connection: Upgrade", "Upgrade: tcp")
        writer.write(head + body)
        listening = Listening(reader, writer)
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await listening.begin()
        except TimeoutError as error:
            raise ConnectFailed(f"the container engine did not answer within {ANSWER_WITHIN:g} s") from error
        yield listening
    finally:
        writer.close()
