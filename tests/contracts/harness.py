"""Every transport as a small harness: the same peer behind it, and the config of a server that reaches it.

The contract's tests know nothing else of a transport. A new one joins by a harness of its own.
"""

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from bascule.config import (
    ContainerTransport,
    InProcessTransport,
    Limits,
    ServerConfig,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    Timeouts,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.model.transport import Transport
from bascule.core.request import Permit, Request
from bascule.runtime.python_tools import native_server
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.factory import dispatcher_for
from bascule.upstream.link import Link
from servers.reference import Maker, Notes, Tools, built, functions
from support.http_servers import fastmcp_server, fastmcp_sse_server, sdk_server, sdk_sse_server, unix_asgi_server
from support.links import a_link, a_plan
from support.notebook import Notebook, notebook
from support.servers import CAP, SERVERS
from support.warm import python
from support.warm_box import box_with_python
from support.ws_servers import sdk_ws_server

TIMEOUTS = Timeouts(connect=60, reconnect=60, probe=30, list=30, call=30, close=5)
"""Long enough for a peer that takes seconds to start on a busy machine. Tests of a limit name their own."""

NO_LIMITS = Limits(concurrent=None)
"""What a transport can carry is under test, not what one principal may have of it."""

Carried = Literal["stdio", "docker exec", "http", "unix", "sse", "ws", "memory", "native"]
Era = Literal["old", "new"]

VERSIONS: Mapping[Era, str] = {"old": "2025-11-25", "new": "2026-07-28"}


@dataclass(frozen=True)
class Cell:
    """One way in which the contract has to hold."""

    transport: Carried
    era: Era
    maker: Maker

    def __str__(self) -> str:
        return f"{self.transport}-{self.era}-{self.maker}"


@dataclass(frozen=True)
class Peer:
    """A server under contract: how to reach it, and what it notes."""

    cell: Cell
    config: ServerConfig
    notes: Notebook

    def dispatcher(self, *, max_message: int = CAP) -> Dispatcher:
        return dispatcher_for(self.config, max_message=max_message, environ=os.environ)


@asynccontextmanager
async def stdio_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    yield StdioTransport(python(), (str(SERVERS / "reference.py"), notes, maker))


@asynccontextmanager
async def container_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    with box_with_python() as box:
        yield ContainerTransport(box.container.name, box.python, (str(SERVERS / "reference.py"), notes, maker))


@asynccontextmanager
async def http_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    serve: Callable[[Any], AbstractAsyncContextManager[str]] = sdk_server if maker == "sdk" else fastmcp_server
    async with serve(built(maker, notes)) as url:
        yield StreamableHttpTransport(url)


@asynccontextmanager
async def unix_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    server = built(maker, notes)
    async with unix_asgi_server(server.streamable_http_app() if maker == "sdk" else server.http_app()) as url:
        yield UnixSocketTransport(url)


@asynccontextmanager
async def ws_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    async with sdk_ws_server(built(maker, notes)) as url:
        yield WebSocketTransport(url)


@asynccontextmanager
async def sse_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    serve: Callable[[Any], AbstractAsyncContextManager[str]] = sdk_sse_server if maker == "sdk" else fastmcp_sse_server
    async with serve(built(maker, notes)) as url:
        yield SseTransport(url)


@asynccontextmanager
async def memory_peer(maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    yield InProcessTransport(built(maker, notes))


@asynccontextmanager
async def native_peer(_maker: Maker, notes: str) -> AsyncGenerator[Transport]:
    yield native_server("peer", functions(Tools(Notes(notes)))).transport


Harness = Callable[[Maker, str], AbstractAsyncContextManager[Transport]]
HARNESSES: Mapping[Carried, Harness] = {
    "stdio": stdio_peer,
    "docker exec": container_peer,
    "http": http_peer,
    "unix": unix_peer,
    "ws": ws_peer,
    "sse": sse_peer,
    "memory": memory_peer,
}

NATIVE_CELLS = [Cell("native", era, "functions") for era in VERSIONS]
"""Functions of this program, for contracts that need no more of a server than its tools."""

SDK_CELLS = [Cell(transport, era, "sdk") for transport in HARNESSES for era in VERSIONS]
SECOND_OPINIONS = [Cell(transport, "new", "fastmcp") for transport in HARNESSES]


@asynccontextmanager
async def peer_of(cell: Cell) -> AsyncGenerator[Peer]:
    harness = native_peer if cell.transport == "native" else HARNESSES[cell.transport]
    async with notebook() as notes, harness(cell.maker, notes.address) as transport:
        yield Peer(cell, ServerConfig("peer", transport, era=cell.era, timeouts=TIMEOUTS, limits=NO_LIMITS), notes)


@asynccontextmanager
async def link_to(
    peer: Peer, leave: Permit | None = None, *, unopened: bool = False, **terms: Any
) -> AsyncGenerator[Link]:
    """An open link that listens for changes, closed at the end of the block. If `unopened`, it is only begun."""
    terms = {"era": peer.config.era, "connect": TIMEOUTS.connect, "probe": TIMEOUTS.probe, **terms}
    link = a_link(replace(a_plan(peer.dispatcher, **terms), leave=leave, on_change=_unheard))
    link.start()
    try:
        if not unopened:
            await link.opened()
        yield link
    finally:
        await link.close()


def _unheard(_link: Link, _kind: str) -> None:
    """Takes what has changed, and lets it be."""


def a_call(tool: str, arguments: dict[str, Any], timeout: float = TIMEOUTS.call, **terms: Any) -> Request:
    return Request("tools/call", {"name": tool, "arguments": arguments}, timeout, **terms)
