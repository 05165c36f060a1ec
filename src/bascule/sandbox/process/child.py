"""Child process: its pipes on the event loop, its exit code, and the end of every process that it has started."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from bascule.core.errors import SandboxError
from bascule.sandbox.process.pipe_end import PipeEnd
from bascule.sandbox.process.supervised import keep
from bascule.sandbox.process.unsupervised import start


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


class Process(Protocol):
    """What a child is made of, with or without a keeper."""

    stdin: PipeEnd
    stdout: PipeEnd
    stderr: PipeEnd
    exited: asyncio.Future[int]
    orphaned: bool

    @property
    def pid(self) -> int: ...

    def terminate(self) -> None: ...

    async def kill(self) -> None: ...

    def strike(self) -> None: ...

    def let_go(self) -> None: ...


class Child:
    """A running process. `close` ends it and all that it has started; until then `write` reaches its stdin. `exited` is
    done, with the exit code (negative for a signal), once nothing of that is left."""

    def __init__(self, process: Process, pipes: Pipes) -> None:
        self._process = process
        self._pipes = pipes
        self._outputs: list[asyncio.ReadTransport] = []
        self._stdin: asyncio.WriteTransport | None = None
        self.exited = process.exited
        _RUNNING.add(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code once it is known."""
        return self.exited.result() if self.exited.done() else None

    @property
    def orphaned(self) -> bool:
        """Whether it ended because its keeper did."""
        return self._process.orphaned

    def write(self, data: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    @property
    def backlog(self) -> int:
        """Bytes that were written and have not left us."""
        return self._stdin.get_write_buffer_size() if self._stdin is not None else 0

    def cut(self) -> None:
        """Close its stdin without what has not left us yet. It is still to be closed."""
        # A pipe that is closed for good cannot be aborted any more.
        if self._stdin is not None and (self.backlog or not self._stdin.is_closing()):
            self._stdin.abort()

    async def close(self, grace: float) -> None:
        """End of input, then TERM, then KILL, each with its share of the grace; at last every pipe is closed."""
        if self._stdin is not None:
            self._stdin.close()
        if not await self._exited_within(grace * 0.4):
            self._process.terminate()
            if not await self._exited_within(grace * 0.4):
                await self._process.kill()
        # What the child never read.
        self.cut()
        for pipe in self._outputs:
            pipe.close()
        # Among others, pipes that never got onto the loop, because the making of this child was cut short.
        self._process.let_go()

    async def _exited_within(self, seconds: float) -> bool:
        done, _ = await asyncio.wait((self.exited,), timeout=seconds)
        return bool(done)

    def terminate(self) -> None:
        """Ask it to end, and its group. It is still to be closed."""
        self._process.terminate()

    def kill(self) -> None:
        """End it and all that it has started now, without waiting for that."""
        self._process.strike()

    async def attach(self) -> None:
        """Put the pipes on the loop; the half of making a child that has to wait."""
        loop = asyncio.get_running_loop()
        self._process.stdin.attached = True
        self._stdin, _ = await loop.connect_write_pipe(lambda: self._pipes.stdin, self._process.stdin)
        # Nothing is asked for while something waits: what waits in our own buffer is beyond recall, yet has not left.
        self._stdin.set_write_buffer_limits(high=0)
        outputs = ((self._process.stdout, self._pipes.stdout), (self._process.stderr, self._pipes.stderr))
        for raw, protocol in outputs:
            raw.attached = True
            reading, _ = await loop.connect_read_pipe(lambda protocol=protocol: protocol, raw)
            self._outputs.append(reading)


async def spawn(command: Command, pipes: Pipes) -> Child:
    """Start a process with exactly this environment and no file descriptors but its three pipes."""
    argv = [find_program(command), *command.argv[1:]]
    try:
        process = await keep(argv, command.env, command.cwd) or start(argv, command.env, command.cwd)
    except (OSError, ValueError) as error:
        raise _not_started(command, error) from error
    child = Child(process, pipes)
    try:
        await child.attach()
    except BaseException:
        await asyncio.shield(child.close(0.1))
        raise
    return child


def find_program(command: Command) -> str:
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
            f"the working directory {command.cwd} does not exist",
            evidence=str(error),
            fix=f"run `mkdir -p {shlex.quote(command.cwd)}`, or change `cwd`",
        )
    return SandboxError(
        f"{command.argv[0]} could not be started",
        evidence=str(error),
        fix="run the same command in a terminal to see what it says",
    )
