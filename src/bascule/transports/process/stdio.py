"""Stdio dispatcher: a server as a child process, over its stdin and stdout."""

import asyncio

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, ProtocolViolation, SandboxError, StartFailed
from bascule.sandbox.factory import ServerBox
from bascule.sandbox.process.child import Child, Command, Pipes, spawn
from bascule.transports.dispatcher import may_write
from bascule.transports.process.dispatcher import ProcessDispatcher

LAST_WORDS = 0.05
"""Seconds between the first sign of a server's end and calling it dead. Its exit code, the rest of its output and its
stderr come by three ways, in any order; without this pause the reason would often be missing."""


class StdioDispatcher(ProcessDispatcher):
    """The conversation with one child process, in a box or without. It is lost when the process ends, or closes its
    stdout, and when its box has lived long enough."""

    kind = "stdio"

    def __init__(self, command: Command | ServerBox, *, max_message: int, hidden: tuple[str, ...] = ()) -> None:
        super().__init__(command if isinstance(command, ServerBox) else None, max_message=max_message, hidden=hidden)
        self._command = command
        self._child: Child | None = None
        self._signs = {"exit", "stdout", "stderr"}
        self._spawned: asyncio.Event | None = None
        self._last_words: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        if self._closing is not None:
            raise ConnectFailed("the link was closed before it was opened")
        self._spawned = asyncio.Event()
        pipes = Pipes(_Stdin(self), _Stdout(self), _Stderr(self))
        try:
            self._child = self._carrier = await spawn(await self._how(), pipes)
            self.pid = self._child.pid
        except SandboxError as error:
            raise StartFailed(
                error.message, where="spawn", evidence=error.evidence, cause=error.cause, fix=error.fix
            ) from error
        finally:
            self._spawned.set()
        # A server may have said too much by now. Whoever asks it something is told so.
        given_up = self.lost.done() and not isinstance(self.lost.result(), ProtocolViolation)
        if self._closing is not None or given_up:
            raise ConnectFailed("the link was closed while it was opened")
        self._child.exited.add_done_callback(lambda _: self.ended("exit"))
        self._watch_spending()
        self.connect_output(self._child.write)

    async def _how(self) -> Command:
        if isinstance(self._command, Command):
            return self._command
        made = await self._command.open()
        assert isinstance(made, Command)
        return made

    def sever(self, reason: PeerError) -> None:
        super().sever(reason)
        if self._box is not None and self._child is not None:
            # Whatever it still does by itself, it does with a way out.
            self._child.kill()

    async def _end_process(self, grace: float) -> None:
        if not may_write(self.leave):
            self._cut()
        if self._spawned is not None:
            # A child that is being made is ours to end as well.
            await self._spawned.wait()
        if self._child is not None:
            await self._child.close(grace)

    def ended(self, sign: str) -> None:
        """Take a sign of the child's end: its exit, or the end of its stdout or stderr."""
        self._signs.discard(sign)
        if sign == "stderr":
            self.said_all()
        if not self._signs:
            self._gone_for_good()
        elif sign != "stderr" and self._last_words is None:
            self._last_words = self._loop.call_later(LAST_WORDS, self._gone_for_good)

    def _gone_for_good(self) -> None:
        if self._last_words is not None:
            # It would hold all that belongs to this link for a moment longer.
            self._last_words.cancel()
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
