"""In-memory dispatcher: an SDK or FastMCP server object in this process, with the same bytes and the same limits as any
other server."""

import asyncio
import math
from contextlib import suppress
from contextvars import Context, copy_context
from types import TracebackType
from typing import Any, Self, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from bascule.core.errors import ConnectFailed, ConnectionLost
from bascule.core.principal import Principal
from bascule.identity.current import CURRENT as WHO
from bascule.transports.dispatcher import may_write
from bascule.transports.outbox import AtOnce
from bascule.transports.process.stream import StreamDispatcher


class MemoryDispatcher(StreamDispatcher):
    """The conversation with a server of the SDK or of FastMCP that runs in a task of ours."""

    kind = "memory"

    def __init__(self, server: Any, *, max_message: int, principal: Principal | None = None) -> None:
        super().__init__(max_message)
        self._server = server
        self._principal = principal
        self._tasks: list[asyncio.Task[None]] = []
        self._to_server: MemoryObjectSendStream[Any] | None = None
        self._unread: MemoryObjectReceiveStream[Any] | None = None
        """A second hold on what the server has not taken yet."""

    async def open(self) -> None:
        lowlevel = lowlevel_of(self._server)
        self._to_server, server_reads = anyio.create_memory_object_stream[Any](math.inf)
        self._unread = server_reads.clone()
        server_writes, from_server = anyio.create_memory_object_stream[Any](math.inf)
        self._tasks = [
            asyncio.create_task(self._serve(lowlevel, _Told(server_reads), server_writes)),
            asyncio.create_task(self._listen(from_server)),
        ]
        # What the server does for a request is done in the context of whoever asked, as if they had called it.
        self._outbox = AtOnce(self._write, self.leave)

    async def close(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        if not may_write(self.leave):
            self._cut()
        if self._to_server is not None:
            self._to_server.close()
        if self._unread is not None:
            self._unread.close()
        pending = [task for task in self._tasks if not task.done()]
        if pending:
            _, pending = await asyncio.wait(pending, timeout=grace)
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)

    def evidence(self) -> str:
        return ""

    def _backlog(self) -> bool:
        return self._unread is not None and self._unread.statistics().current_buffer_used > 0

    def _cut(self) -> None:
        super()._cut()
        if self._to_server is None or self._unread is None:
            return
        self._to_server.close()
        with suppress(anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                self._unread.receive_nowait()

    def _write(self, data: bytes) -> None:
        assert self._to_server is not None
        for line in data.splitlines():
            message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            context = copy_context()
            # A server in this process is told who asks as its own code would be: by the context.
            context.run(WHO.set, self._principal)
            self._to_server.send_nowait((context, message))

    async def _serve(self, lowlevel: "Server[Any]", reads: "_Told", writes: MemoryObjectSendStream[Any]) -> None:
        reason = "the server object stopped serving"
        try:
            async with reads, writes:
                await lowlevel.run(reads, writes, lowlevel.create_initialization_options())
        except Exception as error:  # noqa: BLE001 -- a supervisor's loop: the server's code, whatever it raises, is a death
            reason = f"the server object failed: {type(error).__name__}: {error}"
        finally:
            self.lose(ConnectionLost(reason))

    async def _listen(self, from_server: MemoryObjectReceiveStream[Any]) -> None:
        async with from_server:
            async for item in from_server:
                message = cast("SessionMessage", item).message
                self.feed(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


class _Told:
    """What the server reads. Beside each message it finds the context in which that was sent, under the name by which
    the SDK looks for it."""

    def __init__(self, inner: MemoryObjectReceiveStream[tuple[Context, SessionMessage]]) -> None:
        self._inner = inner
        self.last_context: Context | None = None

    async def receive(self) -> SessionMessage:
        self.last_context, message = await self._inner.receive()
        return message

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def lowlevel_of(server: Any) -> "Server[Any]":
    """The SDK server inside a server object. High-level ones keep it under a name of their own."""
    if isinstance(server, Server):
        return cast("Server[Any]", server)
    for name in ("_lowlevel_server", "_mcp_server"):
        inner: Any = getattr(server, name, None)
        if isinstance(inner, Server):
            return cast("Server[Any]", inner)
    raise ConnectFailed(
        f"{type(server).__name__} is not a server object",
        fix="pass a ServerConfig, or a server made with the MCP SDK or FastMCP",
    )
