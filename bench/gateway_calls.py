"""Calls through the gateway to a stdio server, beside a bare ASGI echo, FastMCP's proxy and the SDK's own server.

wrk asks, with sixteen connections: it takes less of the machine than what it measures.
"""

import asyncio
import json
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp

from bench.http_calls import echo_server, listening
from bench.result import Goal, Report, Row
from bench.rounds import Taken
from bench.stdio_peers import SERVER

CONNECTIONS = 16
SECONDS = 2
ROUNDS = 5
OTHERS = {
    "FastMCP's proxy": "proxy",
    "the SDK's server, answering itself": "sdk",
    "the same, told to answer in JSON": "sdk-json",
}
"""What else is asked. The SDK's server has nothing behind it, and governs nothing."""

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def request(tool: str) -> tuple[str, dict[str, str]]:
    """Its body and its headers."""
    params = {"name": tool, "arguments": {"message": "hello"}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return body, {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }


async def check(url: str, tool: str) -> None:
    """That what is counted are good answers: a failed call is told with 200 as well."""
    body, headers = request(tool)
    async with aiohttp.ClientSession() as client, client.post(url, data=body, headers=headers) as answer:
        said = await answer.text()
    if answer.status != 200 or "hello" not in said or re.search(r'"(error|isError)": ?(true|{)', said):
        raise RuntimeError(f"{url} does not answer as it should: {said}")


def script(folder: Path, tool: str) -> Path:
    """What wrk sends, again and again."""
    body, headers = request(tool)
    lines = ['wrk.method = "POST"', f"wrk.body = {json.dumps(body)}"]
    lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
    path = folder / f"{tool}.lua"
    path.write_text("\n".join(lines) + "\n")
    return path


@asynccontextmanager
async def program(*argv: str, port: int, env: dict[str, str] | None = None) -> AsyncGenerator[str]:
    """A program while it serves at a port; yields its URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await listening(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def gateway(folder: Path) -> AsyncGenerator[str]:
    port = free_port()
    server = {"command": sys.executable, "args": [SERVER], "limits": {"concurrent": 1_000_000}}
    config = folder / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": {"echo": server}, "gateway": {"port": port}}))
    argv = ("-m", "bascule.cli.main", "serve", "--dev", "--config", str(config))
    async with program(*argv, port=port) as url:
        yield url


async def asked(url: str, sends: Path) -> float:
    """Answers a second."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SystemExit("wrk is not installed. On Debian: apt-get install wrk")
    argv = (wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(sends), url)
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    text = told.decode()
    if "Non-2xx" in text:
        raise RuntimeError(f"{url} does not answer as it should: {text}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert found is not None, text
    return float(found[1])


async def run(report: Report) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain, named = script(folder, "echo"), script(folder, "echo_echo")
        peers = {
            "bare ASGI echo": (await enter(echo_server()), plain),
            "bascule serve": (await enter(gateway(folder)), named),
        }
        for label, name in OTHERS.items():
            port = free_port()
            peers[label] = (await enter(program("-m", "bench.gateway_peers", name, str(port), port=port)), plain)
        for url, sends in peers.values():
            await check(url, sends.stem)
        taken: dict[str, list[float]] = {name: [] for name in peers}
        for turn in range(ROUNDS + 1):
            for name, (url, sends) in peers.items():
                value = await asked(url, sends)
                if turn:
                    taken[name].append(value)
    told = Taken(taken)
    goals = {"bare ASGI echo": 0.3, "FastMCP's proxy": 25, "the SDK's server, answering itself": 8}
    bounds = {
        peer: Goal("at least", goals[peer]) if peer in goals else None for peer in peers if peer != "bascule serve"
    }
    ratios = [
        Row(f"bascule serve / {peer}", told.ratio("bascule serve", peer), "×", goal) for peer, goal in bounds.items()
    ]
    report.add(f"tools/call through the gateway, new era, {CONNECTIONS} connections", [*told.rows("calls/s"), *ratios])
