"""Benchmark of streamable HTTP: a governed call in the new era, beside the SDK's client and a bare POST."""

import asyncio
import socket
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from bascule import Runtime, ToolResult
from bascule.config import Limits, ServerConfig, StreamableHttpTransport
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, throughput

IN_FLIGHT = 32
ARGUMENTS = {"message": "hello"}


@asynccontextmanager
async def echo_server(served: str = "http_echo") -> AsyncGenerator[str]:
    """A bare app in a process of its own; yields its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = (
        "-m",
        "uvicorn",
        "--loop",
        "uvloop",
        "--http",
        "httptools",
        "--no-access-log",
        "--log-level",
        "error",
        "--port",
        str(port),
    )
    patience = ("--timeout-keep-alive", "120")  # a peer that waits for its turn must find its connection alive
    app = ("--app-dir", str(Path(__file__).parent.parent), f"bench.{served}:app")
    process = await asyncio.create_subprocess_exec(sys.executable, *argv, *patience, *app)
    try:
        await listening(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


async def listening(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise RuntimeError(f"nothing listens on port {port}")


@asynccontextmanager
async def bascule(url: str) -> AsyncGenerator[Call]:
    config = ServerConfig(name="echo", transport=StreamableHttpTransport(url=url), limits=Limits(concurrent=None))
    async with Runtime.from_servers({"echo": config}, sinks=[deque[object](maxlen=1).append]) as runtime:
        session = runtime.session("bench", "http")

        async def call() -> None:
            outcome = await session.call("echo_echo", ARGUMENTS)
            assert isinstance(outcome, ToolResult), outcome

        await call()
        yield call


@asynccontextmanager
async def sdk(url: str) -> AsyncGenerator[Call]:
    from mcp import Client

    async with Client(url) as client:
        await client.list_tools()

        async def call() -> None:
            result = await client.call_tool("echo", ARGUMENTS)
            assert not result.is_error

        yield call


@asynccontextmanager
async def bare_post(url: str) -> AsyncGenerator[Call]:
    """aiohttp and nothing else: the same request, with the headers its era demands, and nobody who governs it."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bascule", "title": "Bascule", "version": "0.1.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "echo", "arguments": ARGUMENTS, "_meta": meta}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "echo",
    }
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call() -> None:
            body = msgspec.json.encode({**message, "params": params})
            async with session.post(url, data=body, headers=headers) as response:
                msgspec.json.decode(await response.read())

        yield call


def _many(call: Call) -> Awaitable[float]:
    return throughput(call, 1_600, IN_FLIGHT)


async def run(report: Report) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        url = await enter(echo_server())
        governed = {"bascule": await enter(bascule(url))}
        peers = {**governed, "bare aiohttp post": await enter(bare_post(url)), "sdk": await enter(sdk(url))}
        taken = await interleaved(peers, _many, 11)
    ratios = [
        Row("bascule / sdk", taken.ratio("bascule", "sdk"), "×", Goal("at least", 6)),
        Row("bascule / bare aiohttp post", taken.ratio("bascule", "bare aiohttp post"), "×", Goal("at least", 0.8)),
    ]
    report.add(f"streamable HTTP, new era, {IN_FLIGHT} in flight", [*taken.rows("calls/s"), *ratios])
