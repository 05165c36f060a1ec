"""The counting server over any carrier, started again whenever it dies, and the ledger of what it has carried out."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from bascule.config import SseTransport, StdioTransport, StreamableHttpTransport, WebSocketTransport
from bascule.config.model.transport import Transport
from support.fault_proxy import FaultProxy, fault_proxy
from support.servers import argv
from support.waiting import fail_after

Carrier = Literal["stdio", "json", "events", "sse", "ws"]


@dataclass(frozen=True)
class Ledger:
    """What was carried out, in all lives of a server. To be read when the last of them is over."""

    path: Path

    def counts(self) -> Counter[int]:
        """How often each number was counted."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return Counter(int(line) for line in lines)


@dataclass
class Counted:
    """A counting server, and how to reach it. Over stdio the runtime starts it, and there is no proxy."""

    transport: Transport
    ledger: Ledger
    alive: asyncio.Event
    """Whether it listens. What dies is seen to be dead a moment later."""
    proxy: FaultProxy | None = None


@asynccontextmanager
async def counted(carrier: Carrier, folder: Path, seed: int) -> AsyncGenerator[Counted]:
    ledger = Ledger(folder / f"{carrier}.ledger")
    alive = asyncio.Event()
    program, *arguments = argv("counting", ledger.path, carrier)
    if carrier == "stdio":
        alive.set()
        yield Counted(StdioTransport(program, tuple(arguments)), ledger, alive)
        return
    async with fault_proxy(("127.0.0.1", 1), seed) as proxy:
        living = asyncio.create_task(_lives(proxy, alive, program, *arguments))
        try:
            async with fail_after(20, "the start of a counting server"):
                await alive.wait()
            yield Counted(_transport(carrier, proxy.port), ledger, alive, proxy)
        finally:
            living.cancel()
            await asyncio.wait((living,))


async def _lives(proxy: FaultProxy, alive: asyncio.Event, program: str, *arguments: str) -> None:
    """One life after the other, each behind the proxy."""
    while True:
        process = await asyncio.create_subprocess_exec(program, *arguments, stdout=asyncio.subprocess.PIPE)
        try:
            assert process.stdout is not None
            address = await process.stdout.readline()
            proxy.upstream = ("127.0.0.1", urlsplit(address.decode().strip()).port or 1)
            alive.set()
            await process.wait()
            alive.clear()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


def _transport(carrier: Carrier, port: int) -> Transport:
    if carrier == "ws":
        return WebSocketTransport(f"ws://127.0.0.1:{port}/mcp")
    url = f"http://127.0.0.1:{port}/mcp"
    return SseTransport(url) if carrier == "sse" else StreamableHttpTransport(url)
