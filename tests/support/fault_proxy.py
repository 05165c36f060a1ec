"""A proxy between us and a real server that does to the connections through it what a test wants, byte by byte."""

import asyncio
import random
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from support.faults import Cut, Fault, HalfClose, Lasting, Latency, Refuse, Reset, Slices, Stall, Sudden, Way

Address = tuple[str, int] | str
"""A host and a port, or the path of a socket file."""

PIECE = 64 * 1024
"""Most bytes read at once."""


class _Ended(Exception):
    """The connection is over, by a fault."""


class _Wound:
    """A fault on one connection, and how many bytes there are still to pass before it happens."""

    def __init__(self, fault: Sudden) -> None:
        self.fault = fault
        self.left = fault.after


class Passage:
    """One connection through the proxy."""

    def __init__(self, client: "_End", chance: random.Random, healed: asyncio.Event, struck: list[Fault]) -> None:
        self.opening = b""
        """The first bytes that went up."""
        self._struck = struck
        self._chance = chance
        self._healed = healed
        self._lasting: list[Lasting] = []
        self._wounds: list[_Wound] = []
        self._shut: set[Way] = set()
        self._client = client
        self._ends = [client[1]]

    def lay(self, *faults: Fault) -> None:
        for fault in faults:
            if isinstance(fault, Latency | Slices | Refuse):
                self._lasting.append(fault)
            else:
                self._wounds.append(_Wound(fault))

    def heal(self) -> None:
        self._lasting.clear()
        self._wounds.clear()

    async def carry(self, server: "_End", on_request: Callable[["Passage", bytes], None]) -> None:
        """Pass bytes both ways until both ways have ended, or a fault has ended them."""
        self._ends.append(server[1])
        up = asyncio.create_task(self._pump(self._client[0], server[1], "up", on_request))
        down = asyncio.create_task(self._pump(server[0], self._client[1], "down", None))
        try:
            done, _ = await asyncio.wait((up, down), return_when=asyncio.FIRST_EXCEPTION)
            # What one side did to the connection, the other side sees.
            if any(isinstance(task.exception(), OSError) for task in done):
                self.end(reset=True)
        finally:
            self.end(reset=False)
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    def end(self, *, reset: bool) -> None:
        for writer in self._ends:
            if reset:
                _reset(writer)
            else:
                writer.close()
        self._ends = []

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: Way,
        on_request: Callable[["Passage", bytes], None] | None,
    ) -> None:
        while data := await reader.read(PIECE):
            if on_request is not None:
                self.opening = self.opening or data
                on_request(self, data)
            await self._pass(data, writer, way)
        if way not in self._shut:
            writer.write_eof()

    async def _pass(self, data: bytes, writer: asyncio.StreamWriter, way: Way) -> None:
        while data and way not in self._shut:
            near = min((wound for wound in self._wounds if wound.fault.way == way), key=_bytes_left, default=None)
            passing = data if near is None else data[: near.left]
            await self._deliver(passing, writer)
            data = data[len(passing) :]
            for wound in self._wounds:
                if wound.fault.way == way:
                    wound.left -= len(passing)
            if near is not None and near.left <= 0 and near in self._wounds:
                self._wounds.remove(near)
                await self._strike(near.fault, writer)

    async def _deliver(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        size = len(data)
        for fault in [*self._lasting]:
            match fault:
                case Latency(seconds, jitter):
                    await asyncio.sleep(seconds + self._chance.uniform(0, jitter))
                case Slices(slice_size):
                    size = min(size, slice_size)
                case Refuse():
                    pass
        for start in range(0, len(data), max(1, size)):
            writer.write(data[start : start + size])
            await writer.drain()
            # A drain that has nothing to wait for gives nobody a turn.
            await asyncio.sleep(0)

    async def _strike(self, fault: Sudden, writer: asyncio.StreamWriter) -> None:
        self._struck.append(fault)
        match fault:
            case Stall():
                await self._healed.wait()
            case Cut():
                self.end(reset=False)
                raise _Ended
            case Reset():
                self.end(reset=True)
                raise _Ended
            case HalfClose():
                self._shut.add(fault.way)
                writer.write_eof()


_End = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _bytes_left(wound: _Wound) -> int:
    return wound.left


def _reset(writer: asyncio.StreamWriter) -> None:
    """End it with RST in the place of FIN. A socket file knows no such thing, and simply ends."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0 and raw.family != socket.AF_UNIX:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    writer.transport.abort()


class FaultProxy:
    """Stands before a server, on a port or a socket file of its own. `upstream` may be changed: it holds for the
    connections to come."""

    def __init__(self, upstream: Address, seed: int) -> None:
        self.upstream = upstream
        self.address: Address = ("127.0.0.1", 0)
        self.passages: list[Passage] = []
        """Those that stand."""
        self.accepted = 0
        self.struck: list[Fault] = []
        """Every fault that happened, in order."""
        self._seed = seed
        self._always: tuple[Fault, ...] = ()
        self._awaited: list[tuple[bytes, tuple[Fault, ...]]] = []
        self._healed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None
        self._closed = False

    @property
    def port(self) -> int:
        assert isinstance(self.address, tuple)
        return self.address[1]

    def always(self, *faults: Fault) -> None:
        """For every connection, standing or to come, until the proxy is healed."""
        self._healed.clear()
        self._always = faults
        for passage in self.passages:
            passage.lay(*faults)

    def now(self, *faults: Fault, opened_by: bytes = b"") -> int:
        """For the connections that stand now, or those of them whose first bytes were these. Gives their number."""
        self._healed.clear()
        meant = [passage for passage in self.passages if passage.opening.startswith(opened_by)]
        for passage in meant:
            passage.lay(*faults)
        return len(meant)

    def when_asked(self, marker: bytes, *faults: Fault) -> None:
        """For the one connection on which this is sent next. Bytes count from the piece in which it comes, which has
        yet to pass."""
        self._healed.clear()
        self._awaited.append((marker, faults))

    def heal(self) -> None:
        """No more faults. What has stalled goes on; what has ended stays so."""
        self._always, self._awaited = (), []
        for passage in self.passages:
            passage.heal()
        self._healed.set()

    def drop(self) -> None:
        """Reset every connection that stands."""
        for passage in self.passages:
            passage.end(reset=True)

    async def listen(self) -> None:
        """Take connections, at the same address each time."""
        if isinstance(self.address, str):
            self._listener = await asyncio.start_unix_server(self._connected, self.address)
        else:
            self._listener = await asyncio.start_server(self._connected, *self.address)
            self.address = self._listener.sockets[0].getsockname()

    def deafen(self) -> None:
        """Take none: who connects is refused by the kernel. Those that stand stay."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def close(self) -> None:
        self._closed = True
        self.deafen()
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._closed:
            # It was accepted in the very moment of the end.
            _reset(writer)
            return
        task = asyncio.create_task(self._serve((reader, writer), self.accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task that is cancelled before its first step cleans up nothing.
        task.add_done_callback(lambda _: writer.close())

    async def _serve(self, client: _End, number: int) -> None:
        if any(isinstance(fault, Refuse) for fault in self._always):
            self.struck.append(Refuse())
            _reset(client[1])
            return
        passage = Passage(client, random.Random(f"{self._seed}/{number}"), self._healed, self.struck)
        passage.lay(*self._always)
        self.passages.append(passage)
        try:
            await passage.carry(await _reach(self.upstream), self._asked)
        except OSError:
            passage.end(reset=True)
        finally:
            passage.end(reset=False)
            self.passages.remove(passage)

    def _asked(self, passage: Passage, data: bytes) -> None:
        for awaited in [*self._awaited]:
            marker, faults = awaited
            if marker in data:
                self._awaited.remove(awaited)
                passage.lay(*faults)


def _reach(address: Address) -> Awaitable[_End]:
    return asyncio.open_unix_connection(address) if isinstance(address, str) else asyncio.open_connection(*address)


@asynccontextmanager
async def fault_proxy(upstream: Address, seed: int = 0, at: Address = ("127.0.0.1", 0)) -> AsyncGenerator[FaultProxy]:
    """A proxy for the length of the block, on a free port or on the socket file that is named."""
    proxy = FaultProxy(upstream, seed)
    proxy.address = at
    await proxy.listen()
    try:
        yield proxy
    finally:
        await proxy.close()
