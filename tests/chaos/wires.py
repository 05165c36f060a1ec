"""Every wire on which a proxy can stand: a real server behind it, and which bytes carry the reply to a call."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bascule.config import (
    ServerConfig,
    SseTransport,
    StreamableHttpTransport,
    Timeouts,
    WebSocketTransport,
)
from bascule.config.model.transport import Transport
from bascule.core.outcome import Outcome, ToolResult
from bascule.runtime.session import AgentSession
from bascule.upstream.settings import Era
from servers.reference import built
from support.fault_proxy import FaultProxy, fault_proxy
from support.faults import Sudden
from support.http_servers import sdk_server, sdk_sse_server
from support.runtime import QUICKLY
from support.ws_servers import sdk_ws_server

Serve = Callable[[Any], AbstractAsyncContextManager[str]]

CALL = b"tools/call"
"""In the request of every call; a WebSocket hides it."""


@dataclass(frozen=True)
class Wire:
    """One way to a server of the official SDK."""

    name: str
    serve: Serve
    transport: Callable[[str], Transport]
    era: Era
    carrier: bytes | None = CALL
    """What is asked on the connection that is meant. `None` means all that stand."""
    opened_by: bytes = b""
    streamed: bool = False
    """Whether the tool reports progress, which makes a server of the new era answer with a stream."""
    said: int = 1
    """Characters of the result, so many that the reply is somewhat longer than 400 bytes."""
    last: int = 450
    """More bytes than the reply has."""

    def __str__(self) -> str:
        return self.name

    def lay(self, proxy: FaultProxy, fault: Sudden) -> None:
        """Lay a fault on the connection that will carry the reply to the next call."""
        if self.carrier is not None:
            proxy.when_asked(self.carrier, fault)
        else:
            assert proxy.now(fault, opened_by=self.opened_by) == 1

    async def call(self, session: AgentSession, server: str, timeout: float, number: int = 1) -> Outcome:
        """Another number gives another answer."""
        if self.streamed:
            return await session.call(f"{server}_count", {"to": number}, timeout=timeout, on_progress=_heard)
        return await session.call(f"{server}_echo", {"message": self.answer(number)}, timeout=timeout)

    def answer(self, number: int = 1) -> str:
        return f"counted to {number}" if self.streamed else str(number).rjust(self.said, "a")

    def answers(self, result: ToolResult, number: int = 1) -> bool:
        """Whether this is the result of that call."""
        return result.raw["content"][0]["text"] == self.answer(number)


def _heard(_progress: float, _total: float | None, _message: str | None) -> None:
    """Progress is asked for, and of no interest."""


json_server: Serve = partial(sdk_server, json_response=True)

WIRES = (
    Wire("json-new", json_server, StreamableHttpTransport, "new", said=33),
    Wire("json-old", json_server, StreamableHttpTransport, "old", said=60),
    Wire("events-new", sdk_server, StreamableHttpTransport, "new", streamed=True, last=680),
    Wire("events-old", sdk_server, StreamableHttpTransport, "old"),
    Wire("sse", sdk_sse_server, SseTransport, "old", carrier=None, opened_by=b"GET", said=132),
    Wire("sse-post", sdk_sse_server, SseTransport, "old"),
    Wire("ws", sdk_ws_server, WebSocketTransport, "new", carrier=None, said=94),
)


@dataclass(frozen=True)
class Behind:
    """One server behind one proxy, as the runtime knows it."""

    config: ServerConfig
    proxy: FaultProxy


@asynccontextmanager
async def behind_proxies(wire: Wire, count: int, timeouts: Timeouts, seed: int) -> AsyncGenerator[list[Behind]]:
    """One server, and so many ways to it, each through a proxy of its own."""
    async with wire.serve(built("sdk", "")) as url, AsyncExitStack() as stack:
        port = urlsplit(url).port
        assert port is not None
        made: list[Behind] = []
        for number in range(count):
            proxy = await stack.enter_async_context(fault_proxy(("127.0.0.1", port), seed + number))
            transport = wire.transport(url.replace(f":{port}/", f":{proxy.port}/"))
            config = ServerConfig(f"w{number}", transport, era=wire.era, timeouts=timeouts, restart=QUICKLY)
            made.append(Behind(config, proxy))
        yield made
