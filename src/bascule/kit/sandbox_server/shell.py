"""Runs one command to its end, or to its limit: what it has started ends with it, and what it says is bounded."""

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
"""Bytes that are kept of each stream, half of them from its beginning and half from its end."""

LINGER = 1.0
"""Seconds for what was written last. A process that has left its group may hold a stream open for ever."""

_CHUNK = 8192


class Ran(msgspec.Struct, frozen=True):
    """What became of a command."""

    exit_code: int | None
    """None, if it was ended. Negative: the signal that ended it."""
    stdout: str
    stderr: str
    timed_out: bool = False
    omitted: int = 0
    """Bytes of both streams that are left out."""


class Ticket:
    """By what a command is called off, before it has begun or after."""

    __slots__ = ("cancelled", "timed_out")

    def __init__(self) -> None:
        self.cancelled = False
        self.timed_out = False


class Shell:
    """The commands under way of one server. May be used from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._running: dict[Ticket, subprocess.Popen[bytes]] = {}
        self._closed = False

    def run(self, argv: Sequence[str], folder: str, env: Mapping[str, str], timeout: float, ticket: Ticket) -> Ran:
        """Raises `UsageError` where it cannot be begun."""
        process = self._started(argv, folder, env, ticket)
        streams = [_Stream(pipe) for pipe in (process.stdout, process.stderr) if pipe is not None]
        timer = Timer(timeout, self._time_is_up, (ticket,))
        timer.daemon = True
        timer.start()
        # Only looked at: as long as nobody has waited for it, its number is nobody else's.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        timer.cancel()
        with self._lock:
            del self._running[ticket]
            # Whatever it has left running ends too.
            _kill(process)
        process.wait()
        out, err = (stream.ended() for stream in streams)
        ended = ticket.timed_out or ticket.cancelled
        code = None if ended else process.returncode
        return Ran(code, out.text(), err.text(), timed_out=ticket.timed_out, omitted=out.omitted + err.omitted)

    def cancel(self, ticket: Ticket) -> None:
        """End it at once, with all that it has started. What has not begun does not."""
        with self._lock:
            ticket.cancelled = True
            if ticket in self._running:
                _kill(self._running[ticket])

    def close(self) -> None:
        """End them all, and begin none any more."""
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
                # In a session of its own: whatever it starts can be found again by its group.
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
    """What comes out of a command, read to its end and kept in part."""

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
        """When it has, or when it was waited for long enough."""
        self.over.wait(LINGER)
        return self

    def text(self) -> str:
        with self._lock:
            head, tail = bytes(self._head), b"".join(self._tail)
            gap = f"\n… {self.omitted} bytes are left out …\n".encode() if self.omitted else b""
        return (head + gap + tail).decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """It, and whoever is in its group. Not for one that was waited for: the number may be another's by then."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
