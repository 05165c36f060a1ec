"""Servers of next to no weight, many of which fit into the test's own process, and others that take a request and hang."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection

from bascule.config import InProcessTransport, StdioTransport, StreamableHttpTransport, WebSocketTransport
from bascule.config.model.transport import Transport
from servers.echo import answer
from support.http_servers import Asked, error_body, http_reply, raw_server, result_body
from support.servers import argv
from support.ws_servers import ws_server


def _body(message: dict[str, Any]) -> bytes:
    result = answer(message)
    return (
        error_body(message["id"], -32601, "Method not found") if result is None else result_body(message["id"], result)
    )


async def _answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
    message = json.loads(asked.body) if asked.body else {}
    writer.write(http_reply(_body(message)) if "id" in message else http_reply(b"", "202 Accepted"))


async def _talk(connection: ServerConnection) -> None:
    async for text in connection:
        message = json.loads(text)
        if "id" in message:
            await connection.send(_body(message).decode())


async def _hang(asked: Asked, writer: asyncio.StreamWriter) -> None:
    await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def light_http() -> AsyncGenerator[Transport]:
    async def answer_and_forget(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await _answer(asked, writer)
        # What it was asked is not kept: it may be asked for thousands of times, and what is kept is counted.
        server.asked.clear()
        server.arrived, server.ended = asyncio.Queue(), asyncio.Queue()

    async with raw_server(answer_and_forget) as server:
        yield StreamableHttpTransport(server.url)


@asynccontextmanager
async def light_ws() -> AsyncGenerator[Transport]:
    async with ws_server(_talk) as url:
        yield WebSocketTransport(url)


@asynccontextmanager
async def light_stdio() -> AsyncGenerator[Transport]:
    program, *arguments = argv("echo")
    yield StdioTransport(program, tuple(arguments))


@asynccontextmanager
async def light_memory() -> AsyncGenerator[Transport]:
    from mcp.server import MCPServer

    async def echo(message: str) -> str:
        return message

    server = MCPServer("light", log_level="CRITICAL")
    server.add_tool(echo)
    yield InProcessTransport(server)


@asynccontextmanager
async def hung_http() -> AsyncGenerator[Transport]:
    async with raw_server(_hang) as server:
        yield StreamableHttpTransport(server.url)


@asynccontextmanager
async def hung_ws() -> AsyncGenerator[Transport]:
    async with raw_server(_hang) as server:
        yield WebSocketTransport(server.url.replace("http://", "ws://"))


@asynccontextmanager
async def hung_stdio() -> AsyncGenerator[Transport]:
    program, *arguments = argv("mute", "waiting for something")
    yield StdioTransport(program, tuple(arguments))
