"""One server on every transport. Its tool `act` does as its arguments say: `result`, `error`, `progress`, `silent`;
without any of these the result is what was given, as text."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bascule.config import (
    InProcessTransport,
    Limits,
    ServerConfig,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from support.http_servers import (
    Asked,
    error_body,
    event,
    http_reply,
    raw_server,
    raw_unix_server,
    result_body,
    stream_head,
)
from support.runtime import TIMEOUTS, obeying
from support.ws_servers import sdk_ws_server

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}
ACT = {"name": "act", "description": "Does as it is told.", "inputSchema": {"type": "object"}}
KINDS = ("stdio", "http", "unix", "ws", "memory")


@asynccontextmanager
async def served(kind: str, folder: Path, **config: Any) -> AsyncGenerator[ServerConfig]:
    """The server called `work`, reached in one of the `KINDS`."""
    config = {"timeouts": TIMEOUTS, "limits": Limits(concurrent=None), **config}
    if kind == "stdio":
        yield obeying(folder / "log", **config)
    elif kind == "memory":
        yield ServerConfig(name="work", transport=InProcessTransport(server_object()), **config)
    elif kind == "ws":
        async with sdk_ws_server(server_object()) as url:
            yield ServerConfig(name="work", transport=WebSocketTransport(url), **config)
    elif kind == "unix":
        async with raw_unix_server(answer_over_http) as server:
            yield ServerConfig(name="work", transport=UnixSocketTransport(f"unix://{server.socket}"), **config)
    else:
        async with raw_server(answer_over_http) as server:
            yield ServerConfig(name="work", transport=StreamableHttpTransport(server.url), **config)


def result_of(order: dict[str, Any]) -> dict[str, Any]:
    echoed = {"content": [{"type": "text", "text": json.dumps(order)}], "resultType": "complete"}
    return order.get("result", echoed)


async def answer_over_http(asked: Asked, writer: asyncio.StreamWriter) -> None:
    message = asked.message
    match message["method"]:
        case "server/discover":
            writer.write(http_reply(result_body(asked.id, DISCOVERED)))
        case "tools/list":
            writer.write(http_reply(result_body(asked.id, {"tools": [ACT], **CACHE})))
        case _:
            await _obey_over_http(asked, message["params"], writer)


async def _obey_over_http(asked: Asked, params: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    order = params["arguments"]
    if "progress" in order:
        writer.write(stream_head())
        for progress in order["progress"]:
            told = {"progressToken": params["_meta"]["progressToken"], "progress": progress}
            writer.write(event({"method": "notifications/progress", "params": told}))
    if "silent" in order:
        await asyncio.get_running_loop().create_future()
    if "error" in order:
        writer.write(http_reply(error_body(asked.id, **order["error"]), status="400 Bad Request"))
    elif "progress" not in order:
        writer.write(http_reply(result_body(asked.id, result_of(order))))
    else:
        writer.write(event({"id": asked.id, "result": result_of(order)}))
        writer.write_eof()


def server_object() -> Any:
    """The same as an object of the official SDK."""
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import CallToolResult, ListToolsResult

    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult.model_validate({"tools": [ACT], **CACHE})

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        order = params.arguments or {}
        for progress in order.get("progress", []):
            await ctx.session.send_progress_notification(ctx.meta["progress_token"], progress)
        if "silent" in order:
            await asyncio.get_running_loop().create_future()
        if "error" in order:
            raise MCPError(**order["error"])
        return CallToolResult.model_validate(result_of(order))

    return Server("work", on_list_tools=list_tools, on_call_tool=call_tool)
