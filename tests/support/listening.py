"""A command that listens on a port of this machine, for the length of a block."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

from support.waiting import fail_after


@asynccontextmanager
async def listening(port: int, *argv: object, env: Mapping[str, str] | None = None) -> AsyncGenerator[None]:
    """Start a command, wait until something answers on the port, and end the command and its children afterwards."""
    process = await asyncio.create_subprocess_exec(
        *map(str, argv), env={**os.environ, **(env or {})}, start_new_session=True
    )
    try:
        async with fail_after(60, f"{argv[0]} to listen"):
            while not await _answers(port):
                assert process.returncode is None, f"{argv} ended with {process.returncode}"
                await asyncio.sleep(0.05)
        yield
    finally:
        with suppress(ProcessLookupError):
            # npx starts what it was asked for as a child of its own, hence the whole group.
            os.killpg(process.pid, 9)
        await process.wait()


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
