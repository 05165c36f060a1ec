"""Process without a reaper, where none can be started: a child in its own process group. A process that leaves the
group escapes, and all go on if the runtime is killed."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

from bascule.sandbox.process.pipe_end import PipeEnd


class Direct:
    """One process and its group. `exited` is done, with the exit code (negative for a signal), once both are gone."""

    orphaned = False

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self.stdin = _taken(process.stdin, "wb")
        self.stdout, self.stderr = _taken(process.stdout, "rb"), _taken(process.stderr, "rb")
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = loop.create_future()
        self._pidfd = -1
        self._watch_exit(loop)

    @property
    def pid(self) -> int:
        return self._process.pid

    def terminate(self) -> None:
        self._signal_group(signal.SIGTERM)

    async def kill(self) -> None:
        """Kill the group, and wait until the process is gone. It takes as long as the kernel needs."""
        self.strike()
        await asyncio.wait((self.exited,))

    def strike(self) -> None:
        """The same, without waiting."""
        self._signal_group(signal.SIGKILL)

    def let_go(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.discard()

    def _signal_group(self, number: int) -> None:
        if not self.exited.done():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

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
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
        self.exited.set_result(code)


def _taken(pipe: IO[bytes], mode: str) -> PipeEnd:
    with pipe:
        return PipeEnd(os.dup(pipe.fileno()), mode)


def _wait_in_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: Callable[[], None]
) -> None:
    with suppress(ChildProcessError):  # somebody else has waited for it
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
    with suppress(RuntimeError):  # the loop closed first
        loop.call_soon_threadsafe(ended)


def start(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> Direct:
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=dict(env),
        cwd=cwd,
        close_fds=True,
        start_new_session=True,
    )
    return Direct(process)
