"""Servers that nobody here wrote, installed once and kept under `build/`."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from support.waiting import fail_after

ROOT = Path(__file__).parent.parent.parent
VINTAGE = ROOT / "build" / "vintage"
VINTAGE_PACKAGES = ("mcp-server-sqlite==2025.4.25", "mcp==1.7.1", "pydantic<2.12")
"""A server on an SDK from before the new era. It falls silent on a method it does not know, and dies on the next line."""

EVERYTHING_PACKAGE = ("-y", "@modelcontextprotocol/server-everything@2026.8.31")
EVERYTHING = (*EVERYTHING_PACKAGE, "stdio")
TIME = Path(sys.executable).with_name("mcp-server-time")


def vintage_sqlite() -> Path:
    """The command of `mcp-server-sqlite` on an old SDK."""
    return vintage("mcp-server-sqlite")


def vintage(name: str) -> Path:
    """A command of the environment with the old SDK."""
    command = VINTAGE / "bin" / name
    marker = VINTAGE / ".complete"
    if not marker.exists():
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, VINTAGE], check=True)
        python = VINTAGE / "bin" / "python"
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *VINTAGE_PACKAGES], check=True)
        marker.touch()
    return command


@asynccontextmanager
async def everything_over_sse() -> AsyncGenerator[str]:
    """The reference server of the TypeScript SDK, over HTTP+SSE. Gives the URL of its event stream."""
    async with _listening(("npx", *EVERYTHING_PACKAGE, "sse"), "Server is running on port") as port:
        yield f"http://127.0.0.1:{port}/sse"


@asynccontextmanager
async def vintage_over_sse() -> AsyncGenerator[str]:
    """A server on the Python SDK of early 2025, over HTTP+SSE. Gives the URL of its event stream."""
    program = """
import os
from mcp.server.fastmcp import FastMCP
server = FastMCP("vintage", host="127.0.0.1", port=int(os.environ["PORT"]))
@server.tool()
def echo(message: str) -> str:
    return message
server.run("sse")
"""
    python = await asyncio.to_thread(vintage, "python")
    async with _listening((str(python), "-c", program), "Uvicorn running on") as port:
        yield f"http://127.0.0.1:{port}/sse"


@asynccontextmanager
async def _listening(argv: tuple[str, ...], sign: str) -> AsyncGenerator[int]:
    """A server that is told its port by `PORT`, from the line that shows it listens to the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={**os.environ, "PORT": str(port)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        async with fail_after(60, f"the start of {argv[0]}"):
            while sign.encode() not in (line := await process.stdout.readline()):
                assert line, f"{argv[0]} ended before it listened"
        yield port
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
