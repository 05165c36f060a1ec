"""One child process in a process group of its own: its pipes on the event loop, its end, and nothing left behind."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from weakref import WeakSet

from bascule.core.errors import SandboxError


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: argv, never a shell line, and the whole environment."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Pipes:
    """Who listens at each end. The loop calls them itself, so that what arrives passes through nobody in between."""

    stdin: asyncio.BaseProtocol
    """Told when to pause and resume writing."""
    stdout: asyncio.Protocol
    stderr: asyncio.Protocol


_RUNNING = WeakSet["Child"]()


def kill_all() -> None:
    """End every child of this process now, for a program that is told to end at once."""
    for child in tuple(_RUNNING):
        child.kill()


class Child:
    """A running process. `close` ends it and its whole group; until then `write` reaches its stdin. `exited` is done,
    with the exit code (negative for a signal), once it and its group are gone."""

    def __init__(self, process: subprocess.Popen[bytes], pipes: Pipes) -> None:
        self._process = process
        self._pipes = pipes
        self._outputs: list[asyncio.ReadTransport] = []
        self._stdin: asyncio.WriteTransport | None = None
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pidfd = -1
        _RUNNING.add(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code once it is known."""
        return self.exited.result() if self.exited.done() else None

    def write(self, data: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    async def close(self, grace: float) -> None:
        """End of input, then TERM, then KILL, each with its share of the grace; at last every pipe is closed."""
        if self._stdin is not None:
            self._stdin.close()
        for share, signal_number in ((0.4, signal.SIGTERM), (0.4, signal.SIGKILL), (None, None)):
            if await self._exited_within(None if share is None else grace * share):
                break
            self._signal_group(signal_number)
        if self._stdin is not None and self._stdin.get_write_buffer_size():
            # What the child never read. Without that, the pipe is closed already, and cannot be aborted any more.
            self._stdin.abort()
        for pipe in self._outputs:
            pipe.close()
        # Pipes that never got onto the loop, because the making of this child was cut short.
        for raw in (self._process.stdin, self._process.stdout, self._process.stderr):
            if raw is not None:
                raw.close()

    async def _exited_within(self, seconds: float | None) -> bool:
        # KILL cannot be refused, so the last wait is without a limit only in name.
        done, _ = await asyncio.wait((self.exited,), timeout=seconds)
        return bool(done)

    def kill(self) -> None:
        """End it and its group now, without waiting for that."""
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, signal_number: signal.Signals | None) -> None:
        if signal_number is not None and not self.exited.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal_number)

    async def attach(self) -> None:
        """Put the pipes and the process's end on the loop; the half of making a child that has to wait."""
        loop = asyncio.get_running_loop()
        self._watch_exit(loop)
        stdin, stdout, stderr = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, _ = await loop.connect_write_pipe(lambda: self._pipes.stdin, cast("IO[bytes]", stdin))
        for raw, protocol in ((stdout, self._pipes.stdout), (stderr, self._pipes.stderr)):
            reading, _ = await loop.connect_read_pipe(lambda protocol=protocol: protocol, raw)
            self._outputs.append(reading)

    def _watch_exit(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            # No pidfd on this platform: a thread that waits. It ends with the process.
            wait = threading.Thread(target=_wait_in_thread, args=(self._process, loop, self._ended), daemon=True)
            wait.start()
        else:
            loop.add_reader(self._pidfd, self._ended)

    def _ended(self) -> None:
        if self.exited.done():
            return
        # The dead leader still holds its pid until it is reaped, so the group named by it can only be ours: whatever
        # the server started and left running goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
        self.exited.set_result(code)


def _wait_in_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: Callable[[], None]
) -> None:
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()
    with contextlib.suppress(RuntimeError):  # the loop closed first
        loop.call_soon_threadsafe(ended)


async def spawn(command: Command, pipes: Pipes) -> Child:
    """Start a process with exactly this environment and no file descriptors but its three pipes."""
    program = _find(command)
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 -- a vfork takes a millisecond, and cannot leak when cancelled
            [program, *command.argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(command.env),
            cwd=command.cwd,
            close_fds=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(command, error) from error
    child = Child(process, pipes)
    try:
        await child.attach()
    except BaseException:
        await asyncio.shield(child.close(0.1))
        raise
    return child


def _find(command: Command) -> str:
    """The program by the child's own PATH and folder, so that what is found is what the child would find."""
    name = command.argv[0]
    if os.sep in name:
        name = str(Path(command.cwd or ".", name).absolute())
    found = shutil.which(name, path=command.env.get("PATH", ""))
    if found is not None:
        return found
    if Path(name).is_file():
        raise SandboxError(f"{name} cannot be run", cause="the file is not executable", fix=f"chmod +x {name}")
    raise SandboxError(
        f"command not found: {name}",
        evidence=f"PATH={command.env.get('PATH', '')}",
        cause=f"{name} is not installed, or not on the PATH that servers get",
        fix=f"install {name}, or give its full path as `command`",
    )


def _not_started(command: Command, error: OSError | ValueError) -> SandboxError:
    if command.cwd is not None and not Path(command.cwd).is_dir():
        return SandboxError(
            f"the working directory {command.cwd} does not exist", evidence=str(error), fix="create it, or change `cwd`"
        )
    return SandboxError(
        f"{command.argv[0]} could not be started",
        evidence=str(error),
        fix="run the same command in a terminal to see what it says",
    )
