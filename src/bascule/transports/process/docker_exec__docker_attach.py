"""The connection on which an engine carries a process's three streams: asked for by HTTP, then raw in both ways."""

import asyncio
from typing import Protocol

from bascule.core.errors import PeerError, ProtocolViolation
from bascule.sandbox.docker.api import Engine, EngineRefused, read_answer, request_head, started, unreachable
from bascule.wire.docker_stream import STDOUT, DockerStream

LONGEST_HEAD = 16 * 1024
"""Bytes of headers before the streams. Half a kilobyte is usual."""


class Listener(Protocol):
    """Who is told what the process says."""

    def heard(self, data: bytes) -> None:
        """It wrote this to stdout."""

    def said(self, data: bytes) -> None:
        """It wrote this to stderr."""

    def broke(self, reason: PeerError) -> None:
        """What comes can no longer be told apart."""

    def hung_up(self) -> None:
        """Nothing more comes: it has ended, or the engine has."""

    def pause_output(self) -> None: ...

    def resume_output(self) -> None: ...


class Attachment(asyncio.Protocol):
    """The connection to one process."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._stream = DockerStream()
        self._head: bytearray | None = bytearray()
        """What has come of the engine's answer. None: all of it, and the streams follow."""
        self._transport: asyncio.Transport | None = None
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # Nothing is asked for while something waits: what waits in our own buffer is beyond recall, yet has not left.
        transport.set_write_buffer_limits(high=0)

    def begin(self, run_id: str) -> None:
        path, body = started(run_id)
        head = request_head(f"POST {path} HTTP/1.1", len(body), "Connection: Upgrade", "Upgrade: tcp")
        assert self._transport is not None
        self._transport.write(head + body)

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def backlog(self) -> int:
        """Bytes that were written and have not left us."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def end_input(self) -> None:
        """The process sees the end of its stdin, once it has read what was written. What it says still comes."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def cut(self) -> None:
        """End the connection without what has not left us yet."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += data
            data = self._after_head(self._head)
        for output, piece in self._stream.feed(data):
            if output == STDOUT:
                self._listener.heard(piece)
            else:
                self._listener.said(piece)
        if self._stream.violation is not None:
            self._listener.broke(self._stream.violation)
            self.cut()

    def _after_head(self, head: bytearray) -> bytes:
        end = head.find(b"\r\n\r\n")
        if end < 0:
            if len(head) > LONGEST_HEAD:
                self._refused(ProtocolViolation("the container engine does not end the headers of its answer"))
            return b""
        answer = read_answer(bytes(head))
        # Older engines, and some podmans, take the connection over without saying so.
        if answer.status not in {101, 200}:
            self._refused(EngineRefused(answer.status, answer.message, where="connect"))
            return b""
        self._head = None
        if not self.answered.done():
            self.answered.set_result(None)
        return bytes(head[end + 4 :])

    def _refused(self, reason: PeerError) -> None:
        if not self.answered.done():
            self.answered.set_exception(reason)
        self.cut()

    def pause_writing(self) -> None:
        self._listener.pause_output()

    def resume_writing(self) -> None:
        self._listener.resume_output()

    def eof_received(self) -> bool:
        # The engine has nothing more to carry, and reads no more either: what still waits here would wait for ever.
        self.cut()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- either way it has ended
        if not self.answered.done():
            self.answered.set_exception(EngineRefused(0, "it hung up", where="connect"))
        self._listener.hung_up()


async def attach(engine: Engine, listener: Listener) -> Attachment:
    """A connection that has begun nothing yet."""
    loop = asyncio.get_running_loop()
    try:
        _, attachment = await loop.create_unix_connection(lambda: Attachment(listener), engine.socket)
    except OSError as error:
        raise unreachable(engine.socket, error) from error
    return attachment
