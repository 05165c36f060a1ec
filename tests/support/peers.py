"""Servers that nobody here wrote, installed once and kept under `build/`."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from support.servers import SERVERS
from support.waiting import fail_after

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build"
VINTAGE_SDK = ("mcp==1.7.1", "pydantic<2.12")
"""An SDK from before the new era. Its servers fall silent on a method they do not know, and die on the next line."""

EVERYTHING = ("-y", "@modelcontextprotocol/server-everything@2026.8.31", "stdio")
TIME = Path(sys.executable).with_name("mcp-server-time")


def vintage_sqlite() -> Path:
    """The command of `mcp-server-sqlite` on an old SDK."""
    return environment("vintage", "mcp-server-sqlite==2025.4.25", *VINTAGE_SDK) / "mcp-server-sqlite"


@asynccontextmanager
async def vintage_websocket() -> AsyncGenerator[str]:
    """A server on the old SDK's own WebSocket transport. Gives its URL."""
    programs = environment("vintage-websocket", *VINTAGE_SDK, "uvicorn==0.35.0", "websockets==15.0.1")
    script = SERVERS / "vintage" / "websocket.py"
    process = await asyncio.create_subprocess_exec(programs / "python", script, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with fail_after(30, "the start of the server"):
            port = int(await process.stdout.readline())
        yield f"ws://127.0.0.1:{port}/ws"
    finally:
        process.kill()
        await process.communicate()


def environment(name: str, *packages: str) -> Path:
    """The folder of programs of an environment with these packages."""
    folder = BUILD / name
    marker = folder / ".complete"
    if not marker.exists():
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        python = folder / "bin" / "python"
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
        marker.touch()
    return folder / "bin"
