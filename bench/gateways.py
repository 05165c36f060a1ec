"""Processes of the gateway benchmarks: gateways and peers under test, and interleaved throughput rounds over them."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.http_calls import listening
from bench.rounds import Taken
from bench.stdio_peers import SERVER
from bench.wrk import Request, asked, check, script

ROUNDS = 5

UNLIMITED = {"limits": {"concurrent": 1_000_000}}
ECHO = {"command": sys.executable, "args": [SERVER], **UNLIMITED}
"""What stands behind: a stdio server, as fast as Python can be."""


@dataclass(frozen=True)
class Program:
    """A program while it serves."""

    url: str
    pid: int


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@asynccontextmanager
async def program(*argv: str, port: int, env: Mapping[str, str] | None = None) -> AsyncGenerator[Program]:
    process = await asyncio.create_subprocess_exec(
        *argv, env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await listening(port)
        yield Program(f"http://127.0.0.1:{port}/mcp", process.pid)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def gateway(folder: Path, servers: Mapping[str, Any] | None = None) -> AsyncGenerator[Program]:
    """`bascule serve`, in front of one echo server unless told otherwise."""
    port = free_port()
    config = folder / f"bascule-{port}.yaml"
    config.write_text(json.dumps({"mcp_servers": servers or {"echo": ECHO}, "gateway": {"port": port}}))
    argv = (sys.executable, "-m", "bascule.cli.main", "serve", "--dev", "--config", str(config))
    async with program(*argv, port=port) as serving:
        yield serving


@asynccontextmanager
async def peer(name: str) -> AsyncGenerator[Program]:
    """One of `bench.gateway_peers`."""
    port = free_port()
    async with program(sys.executable, "-m", "bench.gateway_peers", name, str(port), port=port) as serving:
        yield serving


async def compared(folder: Path, peers: Mapping[str, tuple[str, Sequence[Request]]]) -> Taken:
    """Calls a second of each, in interleaved rounds: where it is, and what it is asked."""
    sends: dict[str, tuple[str, Path]] = {}
    for number, (name, (url, requests)) in enumerate(peers.items()):
        for request in requests:
            await check(url, request)
        sends[name] = (url, script(folder / f"{number}.lua", requests))
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for turn in range(ROUNDS + 1):
        for name, (url, path) in sends.items():
            value = await asked(url, path)
            if turn:
                taken[name].append(value)
    return Taken(taken)
