"""What a beast is watched in: the beast itself, a healthy neighbour that is called all the while, and a trap."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bascule.config import ServerConfig, SseTransport, StdioTransport, StreamableHttpTransport, Timeouts
from bascule.config.transport import Transport
from bascule.core.events import LinkChanged
from bascule.core.outcome import ToolResult
from bascule.links.state import LinkState
from bascule.runtime.session import AgentSession
from hostile.zoo import Carrier
from support.servers import argv
from support.waiting import fail_after

PATIENT = Timeouts(connect=30, reconnect=30, probe=20, list=20, call=10, close=2)
"""The neighbour must never run into one of these: that would be a disturbance."""

STANDSTILL = 5.0
"""Seconds that no call of the neighbour's may take. No measure of how little it is disturbed, only of whether the loop
stood still: what can make it do so takes minutes, or for ever."""

SECRET = "Bearer s3cret-of-the-zoo"


@asynccontextmanager
async def beast(carrier: Carrier, name: str, trap: str) -> AsyncGenerator[Transport]:
    """How to reach a beast. Over stdio the runtime starts it; over HTTP it is a process of the test's."""
    program, *arguments = argv("beast", carrier, name, trap)
    if carrier == "stdio":
        yield StdioTransport(program, tuple(arguments))
        return
    process = await asyncio.create_subprocess_exec(program, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with fail_after(20, "the start of a beast"):
            port = int(await process.stdout.readline())
        kind = SseTransport if carrier == "sse" else StreamableHttpTransport
        yield kind(f"http://127.0.0.1:{port}/mcp", {"Authorization": SECRET})
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@dataclass
class Trap:
    """Listens where nobody must ever come."""

    url: str = ""
    caught: list[bytes] = field(default_factory=list[bytes])

    async def spring(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The connection itself is already too much, whatever is sent on it.
        self.caught.append(b"")
        self.caught.append(await reader.read(4096))
        writer.close()


@asynccontextmanager
async def trap() -> AsyncGenerator[Trap]:
    listening = Trap()
    async with await asyncio.start_server(listening.spring, "127.0.0.1", 0) as server:
        listening.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield listening


def neighbour() -> ServerConfig:
    program, *arguments = argv("echo")
    return ServerConfig("neighbour", StdioTransport(program, tuple(arguments)), timeouts=PATIENT)


@asynccontextmanager
async def undisturbed(session: AgentSession) -> AsyncGenerator[None]:
    """Call the neighbour without a pause for as long as the block takes. Every call must succeed, and the loop turn."""
    over = asyncio.Event()
    now = asyncio.get_running_loop().time

    async def talk() -> float:
        calls, longest, last = 0, 0.0, now()
        while not over.is_set() or calls < 2:
            said = f"call {calls}"
            outcome = await session.call("neighbour_echo", {"message": said})
            assert isinstance(outcome, ToolResult), f"after {calls} calls the neighbour was disturbed: {outcome}"
            assert outcome.text == said
            calls, longest, last = calls + 1, max(longest, now() - last), now()
        return longest

    talking = asyncio.create_task(talk())
    try:
        yield
    finally:
        over.set()
        longest = await talking
    assert longest < STANDSTILL, f"one call of the neighbour's took {longest:.1f} s"


class Watch:
    """A sink that can be waited on for the state of a link."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._changed = asyncio.Event()

    def __call__(self, event: Any) -> None:
        if isinstance(event, LinkChanged):
            self._states[event.server] = event.state
            self._changed.set()

    async def until(self, server: str, state: LinkState) -> None:
        async with fail_after(10, f"{server} becoming {state} (it is {self._states.get(server)})"):
            while self._states.get(server) != state:
                self._changed.clear()
                await self._changed.wait()
