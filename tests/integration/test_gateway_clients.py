"""Clients of every age list and call through the gateway, whatever era the server behind it speaks."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any, Literal

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from bascule.config import ServerConfig, StdioTransport
from support.gateways import AUTH, serving
from support.kit_http import bearer
from support.peers import SDKS_WITH_STREAMABLE_HTTP, clock, old_sdk
from support.servers import SERVERS
from support.waiting import fail_after

ERAS: tuple[Literal["old", "new"], ...] = ("old", "new")


@pytest.fixture(params=ERAS)
async def url(request: pytest.FixtureRequest) -> AsyncGenerator[str]:
    """Of a gateway in front of a server that is spoken to in one era."""
    command, *args = clock()
    server = ServerConfig(name="clock", transport=StdioTransport(command, tuple(args)), era=request.param)
    async with serving(server, auth=AUTH, within=180) as gateway:
        yield f"http://127.0.0.1:{gateway.port}/mcp"


async def asked_by(version: str, url: str) -> dict[str, Any]:
    """What a client on this release of the official SDK is told."""
    python = await asyncio.to_thread(old_sdk, version)
    process = await asyncio.create_subprocess_exec(
        *(python, SERVERS / "vintage_client.py", url, bearer("alice")),
        *("clock_get_current_time", json.dumps({"timezone": "UTC"})),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with fail_after(60, "a client"):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return json.loads(out)


@pytest.mark.requirement("GTW-1")
@pytest.mark.parametrize("version", SDKS_WITH_STREAMABLE_HTTP)
@pytest.mark.long
async def test_a_client_on_an_old_sdk(url: str, version: str):
    told = await asked_by(version, url)
    assert told["version"] < "2026"
    assert told["tools"] == ["clock_get_current_time", "clock_convert_time"]
    assert not told["isError"]
    assert json.loads(told["text"])["timezone"] == "UTC"


@pytest.mark.requirement("GTW-1")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_fastmcps_client(url: str, mode: Literal["legacy", "auto"]):
    transport = StreamableHttpTransport(url, headers={"Authorization": bearer("alice")})
    async with Client(transport, mode=mode) as client:
        assert [tool.name for tool in await client.list_tools()] == ["clock_get_current_time", "clock_convert_time"]
        told = await client.call_tool("clock_get_current_time", {"timezone": "UTC"})
    assert told.structured_content is not None
    assert told.structured_content["timezone"] == "UTC"
