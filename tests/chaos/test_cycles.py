"""Connecting, calling and closing, thousands of times: nothing is left of any of them."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import psutil
import pytest

from bascule.config import RuntimeConfig, ServerConfig, Timeouts
from bascule.config.model.transport import Transport
from bascule.core.outcome import ToolResult
from bascule.runtime.runtime import Runtime
from support.footprint import footprint, left_since, objects_alive
from support.light_servers import light_http, light_memory, light_stdio, light_ws
from support.waiting import fail_after

LIMITS = Timeouts(connect=60, reconnect=60, probe=60, list=60, call=60, close=5)

KEPT_OBJECTS = 0.25
"""Objects that may stay for each cycle. Whatever a cycle leaves is at least one."""

GROWTH = 16 * 1024 * 1024
"""Bytes by which the process may grow: what the allocator keeps, and no more after more cycles."""


@dataclass(frozen=True)
class Kind:
    """A way to a server, and how often it is gone. Several agent sessions, each with a link of its own, share a runtime."""

    name: str
    serve: Callable[[], AbstractAsyncContextManager[Transport]]
    cycles: int
    """In `make test`. The tenfold is for `make soak`."""
    sessions: int

    def __str__(self) -> str:
        return self.name


KINDS = (
    Kind("stdio", light_stdio, cycles=30, sessions=3),
    Kind("http", light_http, cycles=200, sessions=4),
    Kind("ws", light_ws, cycles=200, sessions=4),
    Kind("memory", light_memory, cycles=1000, sessions=10),
)


async def cycle(config: ServerConfig, sessions: int) -> None:
    """Connect, call, and close."""
    async with Runtime(RuntimeConfig({config.name: config}, links_starting=sessions)) as runtime:

        async def call(number: int) -> None:
            session = runtime.session("alice", f"s-{number}")
            outcome = await session.call(f"{config.name}_echo", {"message": f"{number} times"})
            assert isinstance(outcome, ToolResult), outcome
            assert outcome.raw["content"][0]["text"] == f"{number} times"

        await asyncio.gather(*map(call, range(sessions)))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_nothing_is_left_of_thousands_of_links(kind: Kind, scale: int, tell: Callable[[str], None]):
    cycles = kind.cycles * scale
    async with fail_after(120 * scale, f"{cycles} cycles"), kind.serve() as transport:
        config = ServerConfig("it", transport, timeouts=LIMITS)
        # What is made once is made in the first cycles: imports, caches, threads of the loop.
        bare = footprint()
        for _ in range(10):
            await cycle(config, kind.sessions)
        await left_since(bare)
        before, objects, memory = footprint(), objects_alive(), psutil.Process().memory_info().rss
        for _ in range(cycles // kind.sessions):
            await cycle(config, kind.sessions)
        left = await left_since(before)
        kept, grown = objects_alive() - objects, psutil.Process().memory_info().rss - memory
    tell(f"{kind}: {cycles} cycles, {kept} objects and {grown / 2**20:.1f} MiB more than before")
    assert not left
    assert kept < cycles * KEPT_OBJECTS + 400
    assert grown < GROWTH
