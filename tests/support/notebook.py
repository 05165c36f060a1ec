"""What a server under test notes about itself, whatever process or thread it runs in."""

import asyncio
import socket
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from support.waiting import fail_after

LONG = 20.0
"""Seconds for a note that is to come at once."""


class Notebook(asyncio.DatagramProtocol):
    """Keeps notes in the order in which they come. Servers send them as datagrams to `address`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.notes: list[str] = []
        self._came = asyncio.Event()

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.notes.append(data.decode())
        self._came.set()

    async def until(self, *wanted: str) -> None:
        """Wait until all of these were noted."""
        async with fail_after(LONG, f"the noting of {', '.join(wanted)} (so far: {self.notes})"):
            while not set(wanted) <= set(self.notes):
                self._came.clear()
                await self._came.wait()


@asynccontextmanager
async def notebook() -> AsyncGenerator[Notebook]:
    # Not in the test's own folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="notes") as folder:
        address = str(Path(folder, "s"))
        loop = asyncio.get_running_loop()
        transport, book = await loop.create_datagram_endpoint(
            lambda: Notebook(address), local_addr=address, family=socket.AF_UNIX
        )
        try:
            yield book
        finally:
            transport.close()
