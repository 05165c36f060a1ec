"""Dispatcher base class for servers that are processes: stderr, the limits of a sandbox, and shutdown."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from bascule.core.errors import ConnectionLost
from bascule.sandbox.factory import ServerBox
from bascule.sandbox.process.stderr import StderrLines, StderrRing
from bascule.transports.process.stream import StreamDispatcher

OnLine = Callable[[int, str], None]
"""Takes a line that a server wrote to stderr, with the number of its process. Must not block."""


class Carrier(Protocol):
    """What carries the conversation: pipes, or a connection to whoever holds them."""

    @property
    def backlog(self) -> int:
        """Bytes that were written and not taken yet."""
        ...

    def cut(self) -> None: ...


class ProcessDispatcher(StreamDispatcher):
    """The conversation with one process. Subclasses start and end it, and call `said` and `said_all`."""

    def __init__(self, box: ServerBox | None, *, max_message: int, hidden: tuple[str, ...]) -> None:
        super().__init__(max_message)
        self.on_line: OnLine | None = None
        self.pid: int | None = None
        """The number of the process, once that is known, on the machine that it runs on."""
        self._box = box
        self._carrier: Carrier | None = None
        self._stderr = StderrRing(hidden)
        self._lines = StderrLines(hidden)
        self._spending: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    # Its stderr

    def said(self, data: bytes) -> None:
        """Take what the server wrote to stderr."""
        self._stderr.feed(data)
        if self.on_line is not None:
            self._tell(self._lines.feed(data))

    def said_all(self) -> None:
        """It writes nothing more."""
        self._tell(self._lines.end())

    def _tell(self, lines: Iterable[str]) -> None:
        if self.on_line is not None:
            for line in lines:
                # In a step of its own: what is done about it is not ours to wait for.
                self._loop.call_soon(self.on_line, self.pid or 0, line)

    def evidence(self) -> str:
        return self._stderr.tail()

    # Its end

    def _watch_spending(self) -> None:
        """From now on it lasts no longer than its box may."""
        if self._box is not None:
            self._spending = asyncio.create_task(self._spend(self._box))

    async def _spend(self, box: ServerBox) -> None:
        self.lose(ConnectionLost(await box.spent()))

    async def close(self, grace: float) -> None:
        # One ending, however many ask for it, and none of them can cut it short.
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(grace))
        await asyncio.shield(self._closing)

    async def _end(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        if self._spending is not None:
            self._spending.cancel()
        try:
            await self._end_process(grace)
        finally:
            if self._box is not None:
                await self._box.close()

    async def _end_process(self, grace: float) -> None:
        raise NotImplementedError

    def _backlog(self) -> bool:
        return self._carrier is not None and self._carrier.backlog > 0

    def _cut(self) -> None:
        super()._cut()
        if self._carrier is not None:
            self._carrier.cut()
