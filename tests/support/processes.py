"""Waiting for the end of a process that is not our child."""

import asyncio
import os


async def ended(pid: int) -> None:
    """Return once the process has ended, whether or not somebody has asked for its exit code yet."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    end = asyncio.Event()
    loop.add_reader(watch, end.set)
    try:
        await end.wait()
    finally:
        loop.remove_reader(watch)
        os.close(watch)
