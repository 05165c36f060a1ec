"""Servers that nobody here wrote, installed once and kept under `build/`."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
VINTAGE = ROOT / "build" / "vintage"
VINTAGE_PACKAGES = ("mcp-server-sqlite==2025.4.25", "mcp==1.7.1", "pydantic<2.12")
"""A server on an SDK from before the new era. It falls silent on a method it does not know, and dies on the next line."""

EVERYTHING = ("-y", "@modelcontextprotocol/server-everything@2026.8.31", "stdio")
TIME = Path(sys.executable).with_name("mcp-server-time")


def vintage_sqlite() -> Path:
    """The command of `mcp-server-sqlite` on an old SDK."""
    command = VINTAGE / "bin" / "mcp-server-sqlite"
    marker = VINTAGE / ".complete"
    if not marker.exists():
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, VINTAGE], check=True)
        python = VINTAGE / "bin" / "python"
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *VINTAGE_PACKAGES], check=True)
        marker.touch()
    return command
