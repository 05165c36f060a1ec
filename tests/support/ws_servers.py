"""WebSocket servers on free ports of 127.0.0.1: scripted ones and the SDK's on the `websockets` library, and raw ones
that accept a WebSocket and then write whatever bytes a test wants."""

import asyncio
import base64
import hashlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from bascule.transports.inprocess.memory import lowlevel_of
from support.http_servers import Answer, Asked

Talk = Callable[[ServerConnection], Awaitable[None]]
"""What a server does with one connection, which ends with it."""

KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@asynccontextmanager
async def ws_server(talk: Talk, **options: Any) -> AsyncGenerator[str]:
    """Serve by the `websockets` library. Gives the URL."""

    async def patiently(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await talk(connection)

    options = {"subprotocols": ["mcp"], "max_size": None, "close_timeout": 2, "ping_interval": None, **options}
    async with serve(patiently, "127.0.0.1", 0, **options) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/mcp"


@asynccontextmanager
async def sdk_ws_server(server: Any) -> AsyncGenerator[str]:
    """Serve a server object of the SDK or of FastMCP, one conversation for each connection."""

    async def talk(connection: ServerConnection) -> None:
        to_server, server_reads = anyio.create_memory_object_stream[Any](math.inf)
        server_writes, from_server = anyio.create_memory_object_stream[Any](math.inf)

        async def hear() -> None:
            async with to_server:
                with suppress(ConnectionClosed):
                    async for text in connection:
                        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
                        await to_server.send(SessionMessage(message))

        async def say() -> None:
            async with from_server:
                with suppress(ConnectionClosed):
                    async for item in from_server:
                        await connection.send(item.message.model_dump_json(by_alias=True, exclude_unset=True))

        lowlevel = lowlevel_of(server)
        async with asyncio.TaskGroup() as tasks, server_reads, server_writes:
            tasks.create_task(hear())
            tasks.create_task(say())
            await lowlevel.run(server_reads, server_writes, lowlevel.create_initialization_options())

    async with ws_server(talk) as url:
        yield url


def accepting(then: Callable[[asyncio.StreamWriter], Awaitable[None]], **headers: str) -> Answer:
    """For `raw_server`: accept the WebSocket, write, and read nothing ever after."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(switched(asked, **headers))
        await then(writer)
        await asyncio.get_running_loop().create_future()

    return answer


def switched(asked: Asked, **headers: str) -> bytes:
    """The answer that opens a WebSocket."""
    digest = hashlib.sha1(f"{asked.headers['sec-websocket-key']}{KEY}".encode()).digest()
    told = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": base64.b64encode(digest).decode()}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in told.items()), "", ""]
    return "\r\n".join(lines).encode()


def frame(payload: bytes, opcode: int = 0x1, *, fin: bool = True, bits: int = 0) -> bytes:
    """A frame as a server sends it: not masked."""
    size = len(payload)
    head = bytes([(0x80 if fin else 0) | bits | opcode])
    if size < 126:
        return head + bytes([size]) + payload
    if size < 1 << 16:
        return head + bytes([126]) + size.to_bytes(2) + payload
    return head + bytes([127]) + size.to_bytes(8) + payload
