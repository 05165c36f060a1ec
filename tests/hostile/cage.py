"""What a beast is watched in: the beast itself, a healthy neighbour that is called all the while, and a trap."""

import asyncio
import subprocess
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from bascule.config import ServerConfig, StdioTransport, Timeouts
from bascule.config.model.transport import Transport
from bascule.config.model.transport_choice import remote_transport
from bascule.core.events import LinkChanged
from bascule.core.outcome import ToolResult
from bascule.runtime.session import AgentSession
from bascule.upstream.state import LinkState
from hostile.zoo import Carrier
from support.children import lasting
from support.servers import argv
from support.waiting import fail_after

PATIENT = Timeouts(connect=30, reconnect=30, probe=20, list=20, call=10, close=2)
"""The neighbour must never run into one of these: that would be a disturbance."""

LONGEST_STEP = 0.1
"""Seconds of this thread's own time that the loop may be kept from turning. Not of the clock's: how long a machine with
other things to do takes says nothing about us. Yet neighbours that use the same caches make it twice what it is alone."""

CALL = 0.002
"""Seconds that a call to the neighbour takes. There is one under way at any moment, whatever comes at that moment; that there
are many would only keep the machine busy."""

SECRET = "Bearer s3cret-of-the-zoo"


@contextmanager
def beast(den: "Den", carrier: Carrier, name: str, trap: str) -> Generator[Transport]:
    """How to reach a beast. Over stdio the runtime starts it; else it is a process of the test's, which tells where."""
    if carrier == "stdio":
        program, *arguments = argv("beast", carrier, name, trap)
        yield StdioTransport(program, tuple(arguments))
        return
    with TemporaryDirectory(prefix="beast") as folder, den.born(carrier, name, trap, folder) as url:
        yield remote_transport(url, {"Authorization": SECRET}, "sse" if carrier == "sse" else "auto")


@dataclass(frozen=True)
class Den:
    """A process that forks for each beast. Hundreds are needed, and most of the time of one that is started goes into its
    imports."""

    process: "subprocess.Popen[str]"

    @contextmanager
    def born(self, *words: str) -> Generator[str]:
        """A beast with these words, and its address."""
        try:
            yield self._told(" ".join(words))
        finally:
            assert not self._told("end")

    def _told(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip()


@contextmanager
def a_den() -> Generator[Den]:
    made = subprocess.Popen(argv("beast", "den"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with made as process, lasting(lambda: process.pid):
        yield Den(process)


@asynccontextmanager
async def started(program: str, *arguments: str, folder: str) -> AsyncGenerator[str]:
    process = await asyncio.create_subprocess_exec(program, *arguments, cwd=folder, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with fail_after(20, "the start of a beast"):
            address = await process.stdout.readline()
        yield address.decode().strip()
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
    program, *arguments = argv("echo", CALL)
    return ServerConfig("neighbour", StdioTransport(program, tuple(arguments)), timeouts=PATIENT)


@asynccontextmanager
async def undisturbed(session: AgentSession) -> AsyncGenerator[None]:
    """Call the neighbour without a pause for as long as the block takes. Every call must succeed, and the loop turn."""
    over = asyncio.Event()

    async def talk() -> None:
        calls = 0
        while not over.is_set() or calls < 2:
            said = f"call {calls}"
            outcome = await session.call("neighbour_echo", {"message": said})
            assert isinstance(outcome, ToolResult), f"after {calls} calls the neighbour was disturbed: {outcome}"
            assert outcome.text == said
            calls += 1

    async def watch_the_loop() -> float:
        longest, last = 0.0, time.thread_time()
        while not over.is_set():
            await asyncio.sleep(0.001)
            longest, last = max(longest, time.thread_time() - last), time.thread_time()
        return longest

    talking, watching = asyncio.create_task(talk()), asyncio.create_task(watch_the_loop())
    try:
        yield
    finally:
        over.set()
        await talking
        longest = await watching
    assert longest < LONGEST_STEP, f"the loop stood still for {longest * 1000:.0f} ms"


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
