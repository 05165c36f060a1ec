"""Peers of the stdio benchmark, which call the same server: a bare pipe as the floor, the SDK's client, FastMCP's
client, and Bascule."""

import asyncio
import itertools
import json
import sys
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bascule import Runtime, ToolResult
from bascule.config import Limits, ServerConfig, StdioTransport
from bench.rounds import Call

SERVER = str(Path(__file__).parent.parent / "tests" / "servers" / "echo.py")
ARGUMENTS = {"message": "hello"}


@asynccontextmanager
async def bascule() -> AsyncGenerator[Call]:
    """The whole path: resolved, validated, decided, leased, sent, read, recorded."""
    seen: deque[object] = deque(maxlen=1)
    transport = StdioTransport(command=sys.executable, args=(SERVER,))
    config = ServerConfig(name="echo", transport=transport, limits=Limits(concurrent=None))
    runtime = Runtime.from_servers({"echo": config}, sinks=[seen.append])
    async with runtime:
        session = runtime.session("bench", "stdio")

        async def call() -> None:
            outcome = await session.call("echo_echo", ARGUMENTS)
            assert isinstance(outcome, ToolResult), outcome

        await call()
        yield call


@asynccontextmanager
async def sdk() -> AsyncGenerator[Call]:
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=sys.executable, args=[SERVER])) as client:
        await client.list_tools()

        async def call() -> None:
            result = await client.call_tool("echo", ARGUMENTS)
            assert not result.is_error

        yield call


@asynccontextmanager
async def fastmcp() -> AsyncGenerator[Call]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport as FastMcpStdio

    async with Client(FastMcpStdio(command=sys.executable, args=[SERVER])) as client:
        await client.list_tools()

        async def call() -> None:
            result = await client.call_tool("echo", ARGUMENTS)
            assert not result.is_error

        yield call


@asynccontextmanager
async def bare_pipe() -> AsyncGenerator[Call]:
    """No matching, no deadline: the cost of the pipe and of JSON."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, SERVER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    ids = itertools.count()

    async def call() -> None:
        params = {"name": "echo", "arguments": ARGUMENTS}
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": next(ids), "method": "tools/call", "params": params}).encode())
        stdin.write(b"\n")
        json.loads(await stdout.readline())

    await call()
    try:
        yield call
    finally:
        stdin.close()
        await process.wait()
