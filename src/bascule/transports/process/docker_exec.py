"""Dispatcher for a server in a running container, over Docker exec. The engine's connection starts as HTTP and then
carries stdin, stdout and stderr as raw streams."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex
from typing import Protocol, cast

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, ProtocolViolation, SandboxError, StartFailed
from bascule.sandbox.docker.api import (
    Engine,
    EngineRefused,
    RunState,
    read_answer,
    request_head,
    socket_of,
    started,
    unreachable,
)
from bascule.sandbox.factory import ServerBox
from bascule.sandbox.process.stderr import cleaned
from bascule.sandbox.spec.engine import Run
from bascule.transports.dispatcher import may_write, no_leave, not_opened
from bascule.transports.process.dispatcher import ProcessDispatcher
from bascule.transports.process.docker_kill import MARK, PAUSE, Ending, sweep_what_was_left
from bascule.wire.docker_stream import STDOUT, DockerStream

LONGEST_HEAD = 16 * 1024
"""Bytes of headers before the streams. Half a kilobyte is usual."""


class Listener(Protocol):
    """Who is told what the process says."""

    def heard(self, data: bytes) -> None:
        """It wrote this to stdout."""

    def said(self, data: bytes) -> None:
        """It wrote this to stderr."""

    def broke(self, reason: PeerError) -> None:
        """What comes can no longer be told apart."""

    def hung_up(self) -> None:
        """Nothing more comes: it has ended, or the engine has."""

    def pause_output(self) -> None: ...

    def resume_output(self) -> None: ...


class Attachment(asyncio.Protocol):
    """Connection to one process: starts as an HTTP request, and is then raw in both directions."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._stream = DockerStream()
        self._head: bytearray | None = bytearray()
        """What has come of the engine's answer. None: all of it, and the streams follow."""
        self._transport: asyncio.Transport | None = None
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = transport = cast("asyncio.Transport", transport)
        # Nothing is asked for while something waits: what waits in our own buffer is beyond recall, yet has not left.
        transport.set_write_buffer_limits(high=0)

    def begin(self, run_id: str) -> None:
        path, body = started(run_id)
        head = request_head(f"POST {path} HTTP/1.1", len(body), "Connection: Upgrade", "Upgrade: tcp")
        assert self._transport is not None
        self._transport.write(head + body)

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def backlog(self) -> int:
        """Bytes that were written and have not left us."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def end_input(self) -> None:
        """The process sees the end of its stdin, once it has read what was written. What it says still comes."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def cut(self) -> None:
        """End the connection without what has not left us yet."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += data
            data = self._after_head(self._head)
        for output, piece in self._stream.feed(data):
            if output == STDOUT:
                self._listener.heard(piece)
            else:
                self._listener.said(piece)
        if self._stream.violation is not None:
            self._listener.broke(self._stream.violation)
            self.cut()

    def _after_head(self, head: bytearray) -> bytes:
        end = head.find(b"\r\n\r\n")
        if end < 0:
            if len(head) > LONGEST_HEAD:
                self._refused(ProtocolViolation("the container engine does not end the headers of its answer"))
            return b""
        answer = read_answer(bytes(head))
        # Older engines, and some podmans, take the connection over without saying so.
        if answer.status not in {101, 200}:
            self._refused(EngineRefused(answer.status, answer.message, where="connect"))
            return b""
        self._head = None
        if not self.answered.done():
            self.answered.set_result(None)
        return bytes(head[end + 4 :])

    def _refused(self, reason: PeerError) -> None:
        if not self.answered.done():
            self.answered.set_exception(reason)
        self.cut()

    def pause_writing(self) -> None:
        self._listener.pause_output()

    def resume_writing(self) -> None:
        self._listener.resume_output()

    def eof_received(self) -> bool:
        # The engine has nothing more to carry, and reads no more either: what still waits here would wait for ever.
        self.cut()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- either way it has ended
        if not self.answered.done():
            self.answered.set_exception(EngineRefused(0, "it hung up", where="connect"))
        self._listener.hung_up()


async def attach(engine: Engine, listener: Listener) -> Attachment:
    """A connection that has begun nothing yet."""
    loop = asyncio.get_running_loop()
    try:
        _, attachment = await loop.create_unix_connection(lambda: Attachment(listener), engine.socket)
    except OSError as error:
        raise unreachable(engine.socket, error) from error
    return attachment


START_WITHIN = 60.0
"""Seconds for an engine to find and start a program. On a busy machine it takes one or two."""

LAST_WORDS = 1.0
"""Seconds after the end of a server's streams in which its exit code may become known. It is some milliseconds."""

FIRST_WORDS = 64 * 1024
"""Bytes of stdout that are held back until the program is known to run. Why it does not is told on stdout too, in one
line; more than this can only come from the program itself."""


class DockerExecDispatcher(ProcessDispatcher):
    """The conversation with one process in a container, somebody's own or one that is a box. It is lost when the
    process, the container or the engine ends, and when the box has lived long enough."""

    kind = "docker exec"

    def __init__(
        self, run: Run | ServerBox, *, max_message: int, environ: Mapping[str, str], hidden: tuple[str, ...] = ()
    ) -> None:
        super().__init__(run if isinstance(run, ServerBox) else None, max_message=max_message, hidden=hidden)
        self._mark = token_hex(16)
        self._run = Run("", ()) if isinstance(run, ServerBox) else self._marked(run)
        self._environ = environ
        self._attachment: Attachment | None = None
        self._ending: Ending | None = None
        """Set once there may be something to end."""
        self._held: bytearray | None = bytearray()
        self._over = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self._severed = False

    async def open(self) -> None:
        self._go_on()
        self._ask_leave()
        if self._box is not None:
            self._run = self._marked(await self._made(self._box))
            self._go_on()
            self._watch_spending()
        engine = Engine(socket_of(self._environ))
        try:
            await sweep_what_was_left(engine, self._run.container)
            run_id = await engine.prepare(self._run)
            self._attachment = self._carrier = await attach(engine, self)
            # From here on there is something to end. Whoever closed us before this found nothing, so nothing may start.
            self._go_on()
            self._ask_leave()
            self._ending = Ending(engine, self._run.container, run_id, self._mark)
            self._attachment.begin(run_id)
            await self._attachment.answered
            state = await self._started(engine, run_id)
        except EngineRefused as error:
            raise self._refused(error) from error
        if not state.started:
            raise self._not_started()
        self._go_on()
        self.pid = state.pid
        self.connect_output(self._attachment.write)
        self._release()
        if self._over.is_set():
            self._ask_why()

    def _marked(self, run: Run) -> Run:
        return replace(run, env={**run.env, MARK: self._mark})

    async def _made(self, box: ServerBox) -> Run:
        try:
            made = await box.open()
        except SandboxError as error:
            told = {"evidence": error.evidence, "cause": error.cause, "fix": error.fix}
            raise StartFailed(error.message, where="spawn", **told) from error
        assert isinstance(made, Run)
        return made

    def sever(self, reason: PeerError) -> None:
        self._severed = True
        super().sever(reason)

    def _ask_leave(self) -> None:
        # What is run there, and with which variables, is told to the engine: that is writing, too.
        if not may_write(self.leave):
            raise not_opened(no_leave("connect"))

    def _go_on(self) -> None:
        # A server may have said too much by now. Whoever asks it something is told so.
        given_up = self.lost.done() and not isinstance(self.lost.result(), ProtocolViolation)
        if self._closing is not None or given_up:
            if self._attachment is not None and self._ending is None:
                self._attachment.cut()
            raise ConnectFailed("the link was closed while it was opened")

    async def _started(self, engine: Engine, run_id: str) -> RunState:
        """Wait until the program runs, or has not been found. The engine takes the connection over before it looks."""
        try:
            async with asyncio.timeout(START_WITHIN):
                while True:
                    state = await engine.look(run_id)
                    if state.started or state.ended:
                        return state
                    self._go_on()
                    await asyncio.sleep(PAUSE)
        except TimeoutError as error:
            raise ConnectFailed(f"the container engine started nothing within {START_WITHIN:g} s") from error

    def _refused(self, error: EngineRefused) -> ConnectFailed:
        name = self._run.container
        if error.status == 404:
            return ConnectFailed(
                f"there is no container {name}",
                where="connect",
                evidence=error.said,
                fix="start it, or correct `container`; `docker ps` lists those that run",
            )
        if error.status == 409:
            return ConnectFailed(
                f"the container {name} does not run", where="connect", evidence=error.said, fix=f"docker start {name}"
            )
        return ConnectFailed(error.message, where="connect", evidence=error.said, fix="look into the engine's log")

    def _not_started(self) -> StartFailed:
        program, name = self._run.argv[0], self._run.container
        told = cleaned(bytes(self._held or b"").decode("utf-8", "replace")).strip()
        return StartFailed(
            f"{program} could not be started in the container {name}",
            where="spawn",
            evidence=told or self._stderr.tail(),
            cause=f"{program} is not installed there, not on the container's PATH, or not to be run",
            fix=f"install {program} in the container, or give its full path there as `command`",
        )

    async def _end_process(self, grace: float) -> None:
        if self._asking is not None:
            self._asking.cancel()
        if self._attachment is None:
            return
        if not may_write(self.leave):
            self._cut()
        self._attachment.end_input()
        if self._box is not None:
            # Its container ends with it, and so does all that it has started: at once, if it has a way out too many.
            if self._ending is not None and not self._severed:
                with suppress(ConnectFailed):
                    await self._ending.ended_within(grace * 0.4)
        elif self._ending is not None:
            await self._ending.bring_about(grace)
        self._attachment.cut()

    def heard(self, data: bytes) -> None:
        """Take what the server wrote to stdout."""
        if self._held is None:
            self.feed(data)
            return
        self._held += data
        if len(self._held) > FIRST_WORDS:
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held:
            self.feed(bytes(held))

    def broke(self, reason: PeerError) -> None:
        self.lose(reason)

    def hung_up(self) -> None:
        self._over.set()
        self.said_all()
        # While it is being opened, whoever opens it finds out.
        if self._outbox is not None:
            self._ask_why()

    def _ask_why(self) -> None:
        if not self.lost.done() and self._asking is None:
            self._asking = self._loop.create_task(self._lose_for_its_reason())

    async def _lose_for_its_reason(self) -> None:
        told = await self._how_it_ended()
        self.lose(ConnectionLost(told, evidence=self._stderr.tail()))

    async def _how_it_ended(self) -> str:
        assert self._ending is not None
        try:
            # Of what ran in a container that is gone, the engine may know nothing any more.
            if not await self._ending.engine.is_up(self._run.container):
                return f"the container {self._run.container} has stopped"
            state = await self._ending.ended_within(LAST_WORDS)
        except ConnectFailed:
            return "the container engine ended the connection, and does not answer any more"
        if state is None or state.code is None:
            return "the server closed its stdout but still runs"
        if state.code > 128:
            return f"the server was ended by signal {state.code - 128}"
        return f"the server exited with code {state.code}"
