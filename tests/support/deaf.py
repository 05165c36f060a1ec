"""Peers on every transport that can be full: they take a connection, and read nothing until a test lets them."""

import asyncio
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bascule.sandbox.spec.engine import Run
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.http.dispatcher import HttpDispatcher
from bascule.transports.http.legacy_sse import SseDispatcher
from bascule.transports.process.docker_exec import DockerExecDispatcher
from bascule.transports.process.stdio import StdioDispatcher
from bascule.transports.websocket.dispatcher import WebSocketDispatcher
from support.docker import reached
from support.http_servers import Asked, read_request, socket_file, stream_head
from support.servers import CAP, argv, stdio
from support.sse_servers import named
from support.waiting import fail_after
from support.ws_servers import switched

LONG = 20.0


class Deaf(ABC):
    """A peer, and the connection to it."""

    dispatcher: Dispatcher

    async def open(self) -> None:
        await self.dispatcher.open()

    def taken(self) -> bool:
        """Whether the first message has found its connection taken: what is reset before that is never counted."""
        return True

    @abstractmethod
    def listen(self) -> None:
        """Begin to read."""

    @abstractmethod
    async def received(self) -> int:
        """Read to the end of what came, and tell how many bytes that were."""


class DeafChild(Deaf):
    """The stand-in `deaf`, which writes down what it reads."""

    def __init__(self, dispatcher: StdioDispatcher | DockerExecDispatcher, log: Path) -> None:
        self.dispatcher = self._child = dispatcher
        self._log = log

    async def open(self) -> None:
        """Until it has said that it will not listen."""
        ready = asyncio.Event()
        self.dispatcher.on_notice = lambda _method, _params: ready.set()
        await self.dispatcher.open()
        async with fail_after(LONG, "the start of a child"):
            await ready.wait()

    def listen(self) -> None:
        assert self._child.pid is not None
        os.kill(self._child.pid, signal.SIGUSR1)

    async def received(self) -> int:
        self.listen()
        # Its stdin ends with that, and it after its stdin.
        await self.dispatcher.close(LONG)
        return self._log.stat().st_size if self._log.exists() else 0


class DeafListener(Deaf):
    """A socket that answers what opens a connection, and leaves unread whatever else is sent to it."""

    def __init__(self) -> None:
        self._listening = asyncio.Event()
        self._reading: list[asyncio.Task[None]] = []
        self.sizes: list[int] = []
        """Of what was read of each message so far, in the order in which they came."""
        self._tasks: set[asyncio.Task[None]] = set()

    def taken(self) -> bool:
        return bool(self._reading)

    def listen(self) -> None:
        self._listening.set()

    async def received(self) -> int:
        """Of the first message."""
        self.listen()
        await asyncio.wait(self._reading[:1])
        return self.sizes[0]

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        task.add_done_callback(lambda _: writer.transport.abort())
        self._tasks.add(task)

    async def stop(self) -> None:
        for task in (*self._tasks, *self._reading):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._reading, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            asked = await _parsed(head)
            upgrade = "upgrade" in asked.headers
            writer.write(switched(asked) if upgrade else stream_head() + named("/messages"))
            if not upgrade:
                await asyncio.get_running_loop().create_future()
        self.sizes.append(0)
        reading = asyncio.ensure_future(self._read(reader, len(self.sizes) - 1))
        self._reading.append(reading)
        await asyncio.wait((reading,))

    async def _read(self, reader: asyncio.StreamReader, number: int) -> None:
        await self._listening.wait()
        with suppress(ConnectionError):
            while chunk := await reader.read(1 << 20):
                self.sizes[number] += len(chunk)


async def _parsed(head: bytes) -> Asked:
    reader = asyncio.StreamReader()
    reader.feed_data(head)
    return await read_request(reader)


def _dispatcher(kind: str, port: int, path: str) -> Dispatcher:
    if kind == "ws":
        return WebSocketDispatcher(f"ws://127.0.0.1:{port}/mcp", {}, max_message=CAP, connect_timeout=LONG)
    url = f"http://127.0.0.1:{port}/mcp"
    if kind == "sse":
        return SseDispatcher(url, {}, max_message=CAP, connect_timeout=LONG)
    return HttpDispatcher(url, {}, max_message=CAP, connect_timeout=LONG, socket=path or None)


@asynccontextmanager
async def _deaf_child(dispatcher: StdioDispatcher | DockerExecDispatcher, log: Path) -> AsyncGenerator[Deaf]:
    try:
        yield DeafChild(dispatcher, log)
    finally:
        await dispatcher.close(1.0)


@asynccontextmanager
async def deaf_peer(kind: str, folder: Path) -> AsyncGenerator[Deaf]:
    """One of `stdio`, `docker exec`, `http`, `unix`, `sse` and `ws`. What is dialled is not open yet, and closed at the
    end."""
    log = folder / "received"
    if kind == "stdio":
        async with _deaf_child(stdio("deaf", log), log) as child:
            yield child
        return
    if kind == "docker exec":
        with reached() as engine, engine.container() as box:
            run = Run(box.name, argv("deaf", log))
            dispatcher = DockerExecDispatcher(run, max_message=CAP, environ=os.environ)
            async with _deaf_child(dispatcher, log) as child:
                yield child
        return
    peer = DeafListener()
    with socket_file() as path:
        if kind == "unix":
            listener = await asyncio.start_unix_server(peer.connected, path)
        else:
            listener = await asyncio.start_server(peer.connected, "127.0.0.1", 0)
        port = 0 if kind == "unix" else listener.sockets[0].getsockname()[1]
        peer.dispatcher = _dispatcher(kind, port, path if kind == "unix" else "")
        async with listener:
            try:
                yield peer
            finally:
                await peer.dispatcher.close(1.0)
                await peer.stop()
