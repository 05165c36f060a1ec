"""Servers of every age and transport, made by others, are listed and called without a setting."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP

from support.command import bascule
from support.http_servers import fastmcp_server, unix_asgi_server
from support.listening import listening
from support.peers import (
    EVERYTHING,
    EVERYTHING_PACKAGE,
    FILESYSTEM,
    MEMORY,
    SDK_VERSIONS,
    SDKS_WITH_STREAMABLE_HTTP,
    TIME,
    old_sdk,
    vintage,
)
from support.ports import free_port
from support.servers import SERVERS
from support.without_npx import program

VINTAGE = SERVERS / "vintage.py"


@dataclass(frozen=True)
class Use:
    """One call of one tool, and a piece of what it prints."""

    tool: str
    arguments: tuple[str, ...]
    prints: str


def started_by(command: str, *args: str) -> dict[str, Any]:
    return {"command": command, "args": args}


ADD = Use("add", ("a=1", "b=2"), "3")
ECHO = Use("echo", ("message=hi",), "hi")


async def check(folder: Path, server: dict[str, Any], use: Use) -> dict[str, Any]:
    """List and call through the command, as a person does. Returns the row of the server."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"peer": server}}))
    listed = await bascule(folder, "list", "--json", timeout=90)
    row = listed.json["servers"][0]
    assert (listed.code, row["state"]) == (0, "ready"), row
    assert f"peer_{use.tool}" in {tool["name"] for tool in listed.json["tools"]}
    called = await bascule(folder, "call", f"peer_{use.tool}", *use.arguments)
    assert (called.code, use.prints in called.out) == (0, True), (called.out, called.err)
    return row


@pytest.mark.parametrize("version", SDK_VERSIONS)
async def test_a_stdio_server_on_an_old_sdk(version: str, tmp_path: Path):
    row = await check(tmp_path, {"command": str(old_sdk(version)), "args": [str(VINTAGE), "stdio"]}, ADD)
    assert row["era"] < "2026"


@pytest.mark.parametrize("version", SDKS_WITH_STREAMABLE_HTTP)
async def test_a_streamable_http_server_on_an_old_sdk(version: str, tmp_path: Path):
    async with vintage(version, "streamable-http") as port:
        row = await check(tmp_path, {"url": f"http://127.0.0.1:{port}/mcp"}, ADD)
    assert row["transport"] == "http"


@pytest.mark.parametrize("version", SDK_VERSIONS)
async def test_a_server_with_an_event_stream_on_an_old_sdk(version: str, tmp_path: Path):
    async with vintage(version, "sse") as port:
        row = await check(tmp_path, {"url": f"http://127.0.0.1:{port}/sse"}, ADD)
    assert row["transport"] == "sse"


@pytest.mark.parametrize("version", SDK_VERSIONS)
async def test_a_websocket_server_on_an_old_sdk(version: str, tmp_path: Path):
    async with vintage(version, "ws") as port:
        row = await check(tmp_path, {"url": f"ws://127.0.0.1:{port}/ws"}, ADD)
    assert row["transport"] == "ws"


async def test_server_everything_over_stdio(tmp_path: Path):
    await check(tmp_path, {"command": "npx", "args": list(EVERYTHING)}, ECHO)


async def test_server_everything_over_streamable_http(tmp_path: Path):
    async with everything("streamableHttp") as port:
        await check(tmp_path, {"url": f"http://127.0.0.1:{port}/mcp"}, ECHO)


async def test_server_everything_over_sse(tmp_path: Path):
    async with everything("sse") as port:
        row = await check(tmp_path, {"url": f"http://127.0.0.1:{port}/sse"}, ECHO)
    assert row["transport"] == "sse"


async def test_server_filesystem(tmp_path: Path):
    (tmp_path / "note.txt").write_text("the bridge is down")
    read = Use("read_text_file", (f"path={tmp_path / 'note.txt'}",), "the bridge is down")
    await check(tmp_path, started_by(*program(*FILESYSTEM), str(tmp_path)), read)


async def test_server_memory(tmp_path: Path):
    memory = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    await check(tmp_path, {**started_by(*program(*MEMORY)), "env": memory}, Use("read_graph", (), "entities"))


async def test_mcp_server_time(tmp_path: Path):
    row = await check(tmp_path, {"command": str(TIME)}, Use("get_current_time", ("timezone=UTC",), "UTC"))
    assert row["era"] == "2026-07-28"


async def test_a_fastmcp_server_on_a_port_and_on_a_socket_file(tmp_path: Path):
    server = FastMCP("peer")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    async with fastmcp_server(server) as url, unix_asgi_server(server.http_app()) as address:
        await check(tmp_path, {"url": url}, ADD)
        row = await check(tmp_path, {"url": address}, ADD)
    assert row["transport"] == "unix"


@asynccontextmanager
async def everything(transport: str) -> AsyncGenerator[int]:
    port = free_port()
    async with listening(port, *program("-y", EVERYTHING_PACKAGE, transport), env={"PORT": str(port)}):
        yield port
