"""HTTP servers on free ports of 127.0.0.1 or on socket files, each cleanly stopped at the end of its block: ASGI apps,
aiohttp apps, and raw ones that answer with whatever bytes a test wants."""

import asyncio
import socket
import tempfile
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from aiohttp import web

STOPPING = 10.0
"""Seconds for a server to be gone after its block."""


IDLE = 60
"""Seconds that a connection may be idle. After uvicorn's own five, which a busy machine can take between two calls, a
server may end a connection in the moment in which a request is written to it."""


class _AnnouncedServer(uvicorn.Server):
    """uvicorn, saying when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@asynccontextmanager
async def asgi_server(app: Any, listener: socket.socket | None = None) -> AsyncGenerator[str]:
    """Serve an ASGI app by uvicorn. Gives its origin, without a path."""
    with listener or socket.create_server(("127.0.0.1", 0)) as bound:
        async with _uvicorn(app, bound):
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@asynccontextmanager
async def unix_asgi_server(app: Any) -> AsyncGenerator[str]:
    """Serve an ASGI app by uvicorn on a socket file. Gives the address of the file."""
    with socket_file() as path:
        async with _uvicorn(app, uds=path):
            yield f"unix://{path}"


@contextmanager
def socket_file() -> Generator[str]:
    """A path at which a socket can be made. Not in the test's own folder: it must be short."""
    with tempfile.TemporaryDirectory(prefix="sock") as folder:
        yield str(Path(folder, "s"))


@asynccontextmanager
async def _uvicorn(app: Any, *listeners: socket.socket, **options: Any) -> AsyncGenerator[None]:
    """Run in a thread with its own loop."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=IDLE,
        **options,
    )
    server = _AnnouncedServer(config)
    thread = threading.Thread(target=server.run, args=([*listeners] or None,), name="asgi-server")
    thread.start()
    try:
        if not await asyncio.to_thread(server.listening.wait, STOPPING):
            raise RuntimeError("the server did not start")
        yield
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, STOPPING)


@asynccontextmanager
async def sdk_server(server: Any, **options: Any) -> AsyncGenerator[str]:
    """Serve the official SDK's `MCPServer` or lowlevel `Server`. Gives the URL of its endpoint."""
    async with asgi_server(server.streamable_http_app(**options)) as origin:
        yield f"{origin}/mcp"


@asynccontextmanager
async def sdk_sse_server(server: Any, **options: Any) -> AsyncGenerator[str]:
    """Serve the official SDK's `MCPServer` over HTTP+SSE. Gives the URL of its event stream."""
    async with asgi_server(server.sse_app(**options)) as origin:
        yield f"{origin}/sse"


@asynccontextmanager
async def fastmcp_server(server: Any, **options: Any) -> AsyncGenerator[str]:
    """Serve a FastMCP server. Gives the URL of its endpoint."""
    async with asgi_server(server.http_app(**options)) as origin:
        yield f"{origin}/mcp"


@asynccontextmanager
async def fastmcp_sse_server(server: Any) -> AsyncGenerator[str]:
    """Serve a FastMCP server over HTTP+SSE. Gives the URL of its event stream."""
    async with asgi_server(server.http_app(transport="sse")) as origin:
        yield f"{origin}/sse"


@asynccontextmanager
async def aiohttp_server(app: web.Application) -> AsyncGenerator[str]:
    """Serve an aiohttp app in the running loop. Gives its origin, without a path."""
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class Asked:
    """One HTTP request as a raw server got it. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def id(self) -> Any:
        return self.message["id"]


Answer = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]
"""Writes the answer to one request. May write anything, close, or never end."""


class RawServer:
    """A server that speaks only as much HTTP as its test wants. `arrived` gets each request as it comes, `ended` an item
    each time that a client has ended a connection."""

    def __init__(self, answer: Answer) -> None:
        self.port = 0
        self.socket = ""
        self.connections = 0
        self.asked: list[Asked] = []
        self.arrived: asyncio.Queue[Asked] = asyncio.Queue()
        self.ended: asyncio.Queue[None] = asyncio.Queue()
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[BaseException] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def next(self, method: str | None = None) -> Asked:
        """The next request, of a kind if wished: an HTTP method, or a method of the protocol."""
        while True:
            asked = await self.arrived.get()
            if method is None or asked.method == method or (asked.body and asked.message.get("method") == method):
                return asked

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._served)

    async def stop(self) -> None:
        """Cut what still stands, and raise what went wrong in an answer: a fault there must not pass for a result."""
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._faults:
            raise self._faults[0]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await read_request(reader)
                self.asked.append(asked)
                self.arrived.put_nowait(asked)
                await self._answer(asked, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended.put_nowait(None)
        finally:
            writer.transport.abort()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._faults.append(fault)


@asynccontextmanager
async def raw_server(answer: Answer) -> AsyncGenerator[RawServer]:
    """Serve bytes. Connections that still stand at the end of the block are cut."""
    server = RawServer(answer)
    async with await asyncio.start_server(server.connected, "127.0.0.1", 0) as listener:
        server.port = listener.sockets[0].getsockname()[1]
        try:
            yield server
        finally:
            await server.stop()


@asynccontextmanager
async def raw_unix_server(answer: Answer) -> AsyncGenerator[RawServer]:
    """The same on a socket file, `socket`."""
    server = RawServer(answer)
    with socket_file() as server.socket:
        async with await asyncio.start_unix_server(server.connected, server.socket):
            try:
                yield server
            finally:
                await server.stop()


async def read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def http_reply(body: bytes = b"", status: str = "200 OK", kind: str = "application/json", **headers: str) -> bytes:
    """A whole HTTP response. Header names are given with underscores."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *([f"Content-Type: {kind}"] if kind else [])]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def result_body(request_id: Any, result: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_body(request_id: Any, code: int, message: str, data: Any = None) -> bytes:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def stream_head(**headers: str) -> bytes:
    """The head of an event stream that lasts until the connection ends."""
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Connection: close"]
    return "\r\n".join([*lines, *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items()), "", ""]).encode()


def event(data: bytes | dict[str, Any], event_id: str | None = None) -> bytes:
    """One event; a dict is sent as a message."""
    text = data if isinstance(data, bytes) else msgspec.json.encode({"jsonrpc": "2.0", **data})
    return (b"" if event_id is None else f"id: {event_id}\n".encode()) + b"data: " + text + b"\n\n"
