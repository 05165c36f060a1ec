"""`bascule serve` as a process of its own, with an honest client beside whatever is done to it."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from support.command import started
from support.gateways import ask
from support.kit_http import bearer, line_to
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.tokens import AUDIENCE, ISSUER, SECRET
from support.waiting import fail_after

AUTH = {"keys": [{"algorithm": "HS256", "secret": SECRET}], "issuer": ISSUER, "audience": AUDIENCE}
MiB = 1 << 20
ROOM = 256 * MiB
"""By how much the gateway may grow, whatever is done to it. Bodies share 32 MiB until they are answered, and answers that
wait 64; each is there several times, as it came, as values, as it goes on, and what was freed is not given back at
once."""


class Gateway:
    """`bascule serve` while it runs, with an honest client that notes what it is answered."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.process = psutil.Process(pid)
        self.before = self.process.memory_info().rss
        self.peak = self.before
        self.statuses: list[int] = []
        self.most = ROOM
        self.mallory = bearer("mallory")

    @property
    def growth(self) -> int:
        return self.peak - self.before

    async def honest(self) -> None:
        """One call after the other, each of them within the time that a call may take."""
        token = bearer("alice")
        while True:
            async with line_to(self.port) as line, fail_after(60, "an honest call"):
                for _ in range(5):
                    answer = await ask(line, "tools/call", {"name": "work_act"}, Authorization=token)
                    self.statuses.append(answer.status)
                    self.peak = max(self.peak, self.process.memory_info().rss)
                    # An honest client is no flood: the gateway could answer more in a minute than one caller may ask.
                    await asyncio.sleep(0.01)

    @asynccontextmanager
    async def beside(self, least: int = 5) -> AsyncGenerator[None]:
        """Whatever is done in the block, the honest client is served beside it."""
        calling = asyncio.ensure_future(self.honest())
        try:
            yield
            while len(self.statuses) < least and not calling.done():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        finally:
            calling.cancel()
            (ended,) = await asyncio.gather(calling, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended
        assert {*self.statuses} == {200}
        print(f"{len(self.statuses)} honest calls; the gateway grew by {self.growth / MiB:.0f} MiB")
        assert self.growth < self.most


@asynccontextmanager
async def besieged(folder: Path, **work_more: Any) -> AsyncGenerator[Gateway]:
    port = free_port()
    work = entry("obeying", folder / "log", limits={"concurrent": 16}, **work_more)
    path = write_yaml(folder, {"work": work}, gateway={"port": port, "auth": AUTH})
    async with started(folder, "serve", "--config", str(path), "--json") as process:
        assert process.stdout is not None
        async with fail_after(60, "a gateway"):
            await process.stdout.readline()
            async with line_to(port) as line:
                await ask(line, "tools/call", {"name": "work_act"}, Authorization=bearer("alice"))
        yield Gateway(port, process.pid)
        assert process.returncode is None
        process.send_signal(signal.SIGINT)
        async with fail_after(60, "the end of a gateway"):
            assert await process.wait() == 0
