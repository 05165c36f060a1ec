"""Processes found by what they carry in their environment, whoever their parents are by now."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

LIMIT = 3.0
"""Seconds after which nothing may be left."""


def carrying(marker: str) -> list[int]:
    """The pids of all processes that were started with this in their environment and have not ended."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if marker.encode() in _environment(folder)]


def _environment(folder: Path) -> bytes:
    try:
        return (folder / "environ").read_bytes()
    except OSError:  # it ended just now, or is somebody else's
        return b""


def end_all(marker: str) -> None:
    """What a test was to see ended, and did not."""
    while left := carrying(marker):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def survivors(marker: str) -> list[str]:
    """Wait as long as the limit allows for all to be gone. Returns what is not."""
    deadline = time.monotonic() + LIMIT
    while left := carrying(marker):
        if time.monotonic() > deadline:
            return [_describe(pid) for pid in left]
        await asyncio.sleep(0.02)
    return []


def _describe(pid: int) -> str:
    try:
        return f"{pid}: {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode()}"
    except OSError:
        return f"{pid}: ended at the last moment"
