"""A Python that has imported what programs of the tests import, and becomes each of them by forking.

Run as a script: its arguments are the address to listen at, and the modules to import. It ends with its stdin.
"""

import atexit
import builtins
import gc
import importlib
import io
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NoReturn

Job = tuple[list[str], dict[str, str]]
"""The words of a program, and its environment."""

FDS = 4
"""The three streams of a program, and its folder."""

LARGEST = 1 << 20
"""Bytes of a job."""


def load(modules: list[str]) -> None:
    for name in modules:
        module = importlib.import_module(name.removesuffix(".*"))
        if name.endswith(".*"):
            for found in pkgutil.walk_packages(module.__path__, module.__name__ + "."):
                importlib.import_module(found.name)
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        sys.exit("something that was imported has started a thread, which no fork would have")
    gc.collect()
    gc.freeze()


class Nest:
    """Takes jobs, and tells those who stand for them how they end."""

    def __init__(self, address: str) -> None:
        self._standing: dict[int, tuple[int, socket.socket]] = {}
        """By the number of the connection: the program, and who stands for it."""
        self._woken, self._waking = os.pipe()
        os.set_blocking(self._waking, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._door.bind(address)
        self._door.listen(64)
        self._poll = select.poll()
        for fd in (0, self._woken, self._door.fileno()):
            self._poll.register(fd, select.POLLIN)

    def next_job(self) -> Job:
        """Returns in each child, and nowhere else."""
        while True:
            for fd, _ in self._poll.poll():
                if fd == 0:
                    self._end()
                elif fd == self._woken:
                    os.read(self._woken, 4096)
                    self._reap()
                elif fd == self._door.fileno():
                    if (job := self._take()) is not None:
                        return job
                elif fd in self._standing:
                    # Nobody stands for it any more.
                    os.kill(self._standing[fd][0], signal.SIGKILL)
                    self._poll.unregister(fd)

    def _take(self) -> Job | None:
        connection, _ = self._door.accept()
        data, fds, _, _ = socket.recv_fds(connection, LARGEST, FDS)
        pid = os.fork() if len(fds) == FDS else -1
        if pid == 0:
            self._leave(connection)
            return _moved_in(data, fds)
        for fd in fds:
            os.close(fd)
        if pid > 0:
            self._standing[connection.fileno()] = pid, connection
            self._poll.register(connection.fileno(), select.POLLIN)
            with suppress(OSError):
                connection.send(marshal.dumps(pid))
        return None

    def _leave(self, connection: socket.socket) -> None:
        """Let go of all that is not the child's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in (self._woken, self._waking):
            os.close(fd)
        for one in (self._door, connection, *(other for _, other in self._standing.values())):
            one.close()

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._tell(*ended)

    def _tell(self, pid: int, status: int) -> None:
        number = next(number for number, (program, _) in self._standing.items() if program == pid)
        _, connection = self._standing.pop(number)
        with suppress(KeyError):
            self._poll.unregister(number)
        with suppress(OSError):
            connection.send(marshal.dumps(status))
        connection.close()

    def _end(self) -> NoReturn:
        for pid, _ in self._standing.values():
            os.kill(pid, signal.SIGKILL)
        sys.exit()


def _moved_in(data: bytes, fds: list[int]) -> Job:
    for stream in (0, 1, 2):
        os.dup2(fds[stream], stream)
    os.fchdir(fds[3])
    for fd in fds:
        os.close(fd)
    job: Job = marshal.loads(data)
    return job


def become(words: list[str], environment: dict[str, str]) -> None:
    """Be as a Python is that was just started with these words."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    tempfile.tempdir = None
    for name, fd, mode in (("stdin", 0, "rb"), ("stdout", 1, "wb"), ("stderr", 2, "wb")):
        before: io.TextIOWrapper = getattr(sys, name)
        # The number stays the program's, as it is with the streams that Python makes.
        raw = open(fd, mode, closefd=False)  # noqa: SIM115 -- a number and no path, for as long as it runs
        lines = name == "stderr" or (name == "stdout" and raw.isatty())
        text = io.TextIOWrapper(raw, before.encoding, before.errors, line_buffering=lines)
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    sys.argv = ["-c", *words[2:]] if words[0] == "-c" else words[1:] if words[0] == "-m" else words


def run(words: list[str]) -> None:
    if words[0] == "-m":
        sys.path[0] = str(Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    if words[0] == "-c":
        sys.path[0] = ""
        code = compile(words[1], "<string>", "exec")
    else:
        sys.path[0] = str(Path(words[0]).resolve().parent)
        module.__file__ = words[0]
        code = compile(Path(words[0]).read_bytes(), words[0], "exec", dont_inherit=True)
    # Whoever looks for the names of the program looks there.
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def end_with(program: Callable[[], None]) -> NoReturn:
    """Run it and end as Python does, but for tearing down all that was imported: that would copy every page of it."""
    code: int | None = 1
    try:
        code = _code_of(program)
        # As Python does: threads are waited for, those of executors told to end.
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue] -- there is no other name for it
        atexit._run_exitfuncs()
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        sys.stderr.flush()
        if code is None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        os._exit(code or 0)


def _code_of(program: Callable[[], None]) -> int | None:
    """Its exit code; none if it was interrupted."""
    try:
        program()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException as error:  # noqa: BLE001 -- the outermost
        sys.excepthook(type(error), error, error.__traceback__)
        return None if isinstance(error, KeyboardInterrupt) else 1
    return 0


if __name__ == "__main__":
    kept = sys.modules["__main__"]  # else it would go when a program takes its place
    load(sys.argv[2:])
    nest = Nest(sys.argv[1])
    print("ready", flush=True)
    words, environment = nest.next_job()
    become(words, environment)
    end_with(lambda: run(words))
