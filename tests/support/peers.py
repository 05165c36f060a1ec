"""Servers that nobody here wrote, installed once and kept under `build/`."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from support import warm
from support.listening import listening
from support.ports import free_port
from support.servers import SERVERS

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build"

VINTAGE_PACKAGES = ("mcp-server-sqlite==2025.4.25", "mcp==1.7.1", "pydantic<2.12")
"""A server on an SDK from before the new era. It falls silent on a method it does not know, and dies on the next line."""

SDK_VERSIONS = ("1.2.1", "1.6.0", "1.10.1", "1.16.0", "1.26.0")
"""Releases of the official SDK from January 2025 to early 2026, whose servers people still run."""

SDKS_WITH_STREAMABLE_HTTP = SDK_VERSIONS[2:]

EVERYTHING_PACKAGE = "@modelcontextprotocol/server-everything@2026.8.31"
EVERYTHING = ("-y", EVERYTHING_PACKAGE, "stdio")
FILESYSTEM = ("-y", "@modelcontextprotocol/server-filesystem@2026.8.31")
MEMORY = ("-y", "@modelcontextprotocol/server-memory@2026.8.31")
TIME = Path(sys.executable).with_name("mcp-server-time")


def clock() -> tuple[str, ...]:
    """The program behind `TIME`, without the second that it takes to import what it needs."""
    return (warm.python(), "-m", "mcp_server_time")


def vintage_sqlite() -> Path:
    """The command of `mcp-server-sqlite` on an old SDK."""
    return environment("vintage", *VINTAGE_PACKAGES) / "mcp-server-sqlite"


def old_sdk(version: str) -> Path:
    """A Python with this version of the official SDK."""
    # What each brings was released with it; only the web server is asked for by name, since some leave it out.
    return environment(f"sdk-{version}", f"mcp=={version}", "pydantic<2.12", "uvicorn<1", "websockets<17") / "python"


@asynccontextmanager
async def vintage(version: str, transport: str) -> AsyncGenerator[int]:
    """A server on an old SDK that listens; gives its port."""
    port = free_port()
    async with listening(port, old_sdk(version), SERVERS / "vintage.py", transport, port):
        yield port


def environment(name: str, *packages: str, python: Path | str = sys.executable) -> Path:
    """The folder of commands of an environment with these packages, made when first asked for."""
    folder = BUILD / name
    with alone(BUILD / f"{name}.lock"):
        marker = folder / ".complete"
        wanted = "\n".join((str(python), *packages))
        if not marker.exists() or marker.read_text() != wanted:
            subprocess.run([uv(), "venv", "--quiet", "--clear", "--python", python, folder], check=True)
            made = folder / "bin" / "python"
            subprocess.run([uv(), "pip", "install", "--quiet", "--python", made, *packages], check=True)
            marker.write_text(wanted)
    return folder / "bin"


def uv() -> str:
    return shutil.which("uv") or str(Path(sys.executable).with_name("uv"))


@contextmanager
def alone(lock: Path) -> Generator[None]:
    """Tests run in several processes, and only one of them may install."""
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
