"""A server as a child process, spoken to over its stdin and stdout."""

import asyncio
from collections.abc import Callable, Iterable

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, ProtocolViolation, SandboxError
from bascule.sandbox.boxing import ServerBox
from bascule.sandbox.child import Child, Command, Pipes, spawn
from bascule.sandbox.stderr_lines import StderrLines
from bascule.sandbox.stderr_ring import StderrRing
from bascule.transports.dispatcher import may_write
from bascule.transports.stream import StreamDispatcher

OnLine = Callable[[int, str], None]
"""Takes a line that a child wrote to stderr, with the child's pid. Must not block."""

LAST_WORDS = 0.05
"""Seconds between the first sign of a server's end and calling it dead. Its exit code, the rest of its output and its
stderr come by three ways, in any order; without this pause the reason would often be missing."""


class StdioDispatcher(StreamDispatcher):
    """The conversation with one child process, in a box or without. It is lost when the process ends, or closes its
    stdout, and when its box has lived long enough."""

    kind = "stdio"

    def __init__(self, command: Command | ServerBox, *, max_message: int, hidden: tuple[str, ...] = ()) -> None:
        super().__init__(max_message)
        self._command = command
        self._box = command if isinstance(command, ServerBox) else None
        self._child: Child | None = None
        self.on_line: OnLine | None = None
        self._stderr = StderrRing(hidden)
        self._lines = StderrLines(hidden)
        self._signs = {"exit", "stdout", "stderr"}
        self._spawned: asyncio.Event | None = None
        self._closing: asyncio.Task[None] | None = None
        self._spending: asyncio.Task[None] | None = None

    async def open(self) -> None:
        if self._closing is not None:
            raise ConnectFailed("the link was closed before it was opened")
        self._spawned = asyncio.Event()
        pipes = Pipes(_Stdin(self), _Stdout(self), _Stderr(self))
        try:
            self._child = await spawn(await self._how(), pipes)
        except SandboxError as error:
            raise ConnectFailed(
                error.message, where="spawn", evidence=error.evidence, cause=error.cause, fix=error.fix
            ) from error
        finally:
            self._spawned.set()
        # A server may have said too much by now. Whoever asks it something is told so.
        given_up = self.lost.done() and not isinstance(self.lost.result(), ProtocolViolation)
        if self._closing is not None or given_up:
            raise ConnectFailed("the link was closed while it was opened")
        self._child.exited.add_done_callback(lambda _: self.ended("exit"))
        if self._box is not None:
            self._spending = asyncio.create_task(self._spend(self._box))
        self.connect_output(self._child.write)

    async def _how(self) -> Command:
        if isinstance(self._command, Command):
            return self._command
        made = await self._command.open()
        assert isinstance(made, Command)
        return made

    async def _spend(self, box: ServerBox) -> None:
        self.lose(ConnectionLost(await box.spent()))

    def sever(self, reason: PeerError) -> None:
        super().sever(reason)
        if self._box is not None and self._child is not None:
            # Whatever it still does by itself, it does with a way out.
            self._child.kill()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def close(self, grace: float) -> None:
        # One ending, however many ask for it, and none of them can cut it short.
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(grace))
        await asyncio.shield(self._closing)

    async def _end(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        if self._spending is not None:
            self._spending.cancel()
        if not may_write(self.leave):
            self._cut()
        if self._spawned is not None:
            # A child that is being made is ours to end as well.
            await self._spawned.wait()
        if self._child is not None:
            await self._child.close(grace)
        if self._box is not None:
            await self._box.close()

    def _backlog(self) -> bool:
        return self._child is not None and self._child.backlog > 0

    def _cut(self) -> None:
        super()._cut()
        if self._child is not None:
            self._child.cut()

    def evidence(self) -> str:
        return self._stderr.tail()

    def said(self, data: bytes) -> None:
        """Take what the child wrote to stderr."""
        self._stderr.feed(data)
        if self.on_line is not None:
            self._tell(self._lines.feed(data))

    def _tell(self, lines: Iterable[str]) -> None:
        if self.on_line is not None and self._child is not None:
            for line in lines:
                # In a step of its own: what is done about it is not ours to wait for.
                self._loop.call_soon(self.on_line, self._child.pid, line)

    def ended(self, sign: str) -> None:
        """Take a sign of the child's end: its exit, or the end of its stdout or stderr."""
        self._signs.discard(sign)
        if sign == "stderr":
            self._tell(self._lines.end())
        if not self._signs:
            self._gone_for_good()
        elif sign != "stderr":
            self._loop.call_later(LAST_WORDS, self._gone_for_good)

    def _gone_for_good(self) -> None:
        self.lose(ConnectionLost(self._how_it_ended(), evidence=self._stderr.tail()))

    def _how_it_ended(self) -> str:
        code = self._child.code if self._child is not None else None
        if code is None:
            return "the server closed its stdout but still runs"
        if self._child is not None and self._child.orphaned:
            return "the server ended with its keeper"
        if code < 0:
            return f"the server was ended by signal {-code}"
        return f"the server exited with code {code}"


class _Stdin(asyncio.BaseProtocol):
    """The pipe the child reads from."""

    def __init__(self, server: StdioDispatcher) -> None:
        self._server = server

    def pause_writing(self) -> None:
        self._server.pause_output()

    def resume_writing(self) -> None:
        self._server.resume_output()


class _Stdout(asyncio.Protocol):
    """The pipe that carries the protocol."""

    def __init__(self, server: StdioDispatcher) -> None:
        self._server = server

    def data_received(self, data: bytes) -> None:
        self._server.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- either way it has ended
        self._server.ended("stdout")


class _Stderr(asyncio.Protocol):
    """The pipe that carries everything else the server has to say."""

    def __init__(self, server: StdioDispatcher) -> None:
        self._server = server

    def data_received(self, data: bytes) -> None:
        self._server.said(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the same
        self._server.ended("stderr")
