"""Subprocess runner with a timeout: kills the process group of a command, and keeps 64 KiB of each output stream."""

import os
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread, Timer
from typing import IO

import msgspec

from bascule.core.errors import UsageError

KEPT = 64 * 1024
"""Bytes kept of each stream, half of them from its beginning and half from its end."""

LINGER = 1.0
"""Seconds to read the last output. A process that has left the process group may hold the pipe open for ever."""

_CHUNK = 8192


class Ran(msgspec.Struct, frozen=True):
    """Result of a command."""

    exit_code: int | None
    """None after a timeout or a cancellation. Negative: number of the signal that killed the command."""
    stdout: str
    stderr: str
    timed_out: bool = False
    omitted: int = 0
    """Bytes of both streams that were not kept."""


class Ticket:
    """Cancellation handle of one command, valid before and after its start."""

    __slots__ = ("cancelled", "timed_out")

    def __init__(self) -> None:
        self.cancelled = False
        self.timed_out = False


class Shell:
    """The running commands of one server. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._running: dict[Ticket, subprocess.Popen[bytes]] = {}
        self._closed = False

    def run(self, argv: Sequence[str], folder: str, env: Mapping[str, str], timeout: float, ticket: Ticket) -> Ran:
        """Runs a command to its end. Raises `UsageError` if it cannot be started."""
        process = self._started(argv, folder, env, ticket)
        streams = [_Stream(pipe) for pipe in (process.stdout, process.stderr) if pipe is not None]
        timer = Timer(timeout, self._time_is_up, (ticket,))
        timer.daemon = True
        timer.start()
        # WNOWAIT keeps the zombie: its pid stays its own until `wait()`, so the kill below hits no other process.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        timer.cancel()
        with self._lock:
            del self._running[ticket]
            # Background processes of the command end with it.
            _kill(process)
        process.wait()
        out, err = (stream.ended() for stream in streams)
        ended = ticket.timed_out or ticket.cancelled
        code = None if ended else process.returncode
        return Ran(code, out.text(), err.text(), timed_out=ticket.timed_out, omitted=out.omitted + err.omitted)

    def cancel(self, ticket: Ticket) -> None:
        """Kills the command and its process group. A command that has not started never does."""
        with self._lock:
            ticket.cancelled = True
            if ticket in self._running:
                _kill(self._running[ticket])

    def close(self) -> None:
        """Kills all commands, and rejects new ones."""
        with self._lock:
            self._closed = True
            for process in self._running.values():
                _kill(process)

    def _time_is_up(self, ticket: Ticket) -> None:
        with self._lock:
            if ticket in self._running:
                ticket.timed_out = True
                _kill(self._running[ticket])

    def _started(
        self, argv: Sequence[str], folder: str, env: Mapping[str, str], ticket: Ticket
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed or ticket.cancelled:
                raise UsageError("it was called off before it began")
            if len(self._running) >= self._most:
                raise UsageError(f"{self._most} commands run already", fix="wait until one has ended")
            try:
                # In a session of its own: one kill of the process group reaches its children.
                process = subprocess.Popen(
                    [*argv],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=folder,
                    env={**env},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                fix = "name a program that is there, and is one"
                raise UsageError(f"{argv[0]!r:.100} cannot be run: {why}", fix=fix) from None
            self._running[ticket] = process
            return process


class _Stream:
    """Reader of one output stream: reads to the end, and keeps the first and the last 32 KiB."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.over = Event()
        self._lock = Lock()
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._in_tail = 0
        self.omitted = 0
        Thread(target=self._read, args=(pipe,), daemon=True).start()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK):
                with self._lock:
                    self._take(chunk)
        self.over.set()

    def _take(self, chunk: bytes) -> None:
        room = KEPT // 2 - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._in_tail += len(chunk)
        while self._in_tail > KEPT // 2:
            first = self._tail.popleft()
            spare = min(self._in_tail - KEPT // 2, len(first))
            self._in_tail -= spare
            self.omitted += spare
            if spare < len(first):
                self._tail.appendleft(first[spare:])

    def ended(self) -> "_Stream":
        """Waits for the end of the stream, `LINGER` seconds at most."""
        self.over.wait(LINGER)
        return self

    def text(self) -> str:
        with self._lock:
            head, tail = bytes(self._head), b"".join(self._tail)
            gap = f"\n… {self.omitted} bytes are left out …\n".encode() if self.omitted else b""
        return (head + gap + tail).decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the process group. Only before `wait()`: afterwards the pid may belong to another process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
