"""Client of the fork server, the one process from which all reapers are forked. It starts with the first server and
ends with the runtime's process."""

import atexit
import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

PROGRAM = Path(__file__).parents[1] / "__main__.py"

PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""All a nursery gets of our environment: without these, some builds of Python do not start."""

Reach = Literal["tree", "group", "group while we live"]
"""What the end of a server ends: all it ever started, or its process group only. The last is without keepers: our own
violent death ends nothing then."""


class _Process(subprocess.Popen[bytes]):
    """The nursery outlives the interpreter by a moment, which is nothing to complain of."""

    def __del__(self) -> None:
        pass


class Nursery:
    """A running nursery."""

    def __init__(self, standing: tuple[Any, ...]) -> None:
        self.standing = standing
        with _ourselves() as owner:
            self._orders, theirs = socket.socketpair()
            try:
                with theirs:
                    self._process = _started(theirs.fileno(), owner)
            except OSError:
                self._orders.close()
                raise
        self._orders.setblocking(False)  # noqa: FBT003

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def order(self, control: socket.socket) -> bool:
        """Have a keeper forked that listens to this socket. False if the nursery has not come to it yet, and the next
        attempt may succeed."""
        try:
            socket.send_fds(self._orders, [b"k"], [control.fileno()])
        except BlockingIOError:
            return False
        return True

    def retire(self) -> None:
        """Want no more keepers of it. It ends when those that are there have ended."""
        with suppress(OSError):
            # Somewhere there may be a fork of ours that has a copy of the socket, which closing would not reach.
            self._orders.shutdown(socket.SHUT_RDWR)
        self.forget()

    def forget(self) -> None:
        """Let go of it, as a fork of ours has to."""
        self._orders.close()

    def dismiss(self) -> None:
        """End it at once: it is not what we took it for."""
        self.forget()
        self._process.kill()
        self._process.wait()

    def wait(self, seconds: float) -> None:
        self._process.wait(seconds)


def _started(orders: int, owner: int) -> _Process:
    flags = ["-B"] if sys.dont_write_bytecode else []
    return _Process(
        [sys.executable, "-I", "-S", *flags, str(PROGRAM), str(orders), str(owner)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
        pass_fds=[each for each in (orders, owner) if each >= 0],
        start_new_session=True,
    )


@contextmanager
def _ourselves() -> Generator[int]:
    """A pidfd of this process, or -1 where there are none. Made by us, it cannot be of one that only has our pid."""
    try:
        handle = os.pidfd_open(os.getpid())
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in {errno.ENOSYS, errno.EPERM}:
            raise
        handle = -1
    try:
        yield handle
    finally:
        if handle >= 0:
            os.close(handle)


class _House:
    """What there is of nurseries in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.nursery: Nursery | None = None
        self.retired: list[Nursery] = []
        self.without = "" if _possible() else "this Python cannot be started a second time"
        """Why there is none, if there can be none."""
        self.reach: Reach | None = None


def _possible() -> bool:
    # What was packed into one program is that program again when it is started.
    return bool(sys.executable) and not getattr(sys, "frozen", False) and PROGRAM.is_file()


_house = _House()


def _in_a_fork() -> None:
    """A fork of ours is somebody else: it leaves our nursery alone, and starts one of its own."""
    global _house  # a lock that another thread held at the fork would be locked for ever
    before, _house = _house, _House()
    for each in (before.nursery, *before.retired):
        if each is not None:
            each.forget()


def _at_exit() -> None:
    """It would end anyway, but Python would complain of a socket that nobody has closed."""
    if _house.nursery is not None:
        _house.nursery.retire()


os.register_at_fork(after_in_child=_in_a_fork)
atexit.register(_at_exit)


def nursery(standing: tuple[Any, ...]) -> Nursery | None:
    """The nursery of this process as it stands, started if it does not run. None where there can be none."""
    with _house.lock:
        _house.retired = [old for old in _house.retired if not old.ended]
        if _house.without:
            return None
        current = _house.nursery
        if current is not None and (current.ended or current.standing != standing):
            current.retire()
            _house.retired += [] if current.ended else [current]
            current = None
        try:
            _house.nursery = current or Nursery(standing)
        except (FileNotFoundError, PermissionError) as error:
            _house.nursery = None
            if not never_greeted(str(error)):
                raise
        return _house.nursery


def greeted(reach: Any) -> None:
    """A keeper has come to life, and says how far its arm is."""
    _house.reach = "tree" if reach == "tree" else "group"


def never_greeted(why: str) -> bool:
    """No keeper answered. If none ever has, do without from now on, and tell so by True."""
    if _house.reach is not None:
        return False
    _house.without = why
    if _house.nursery is not None:
        _house.nursery.dismiss()
        _house.nursery = None
    return True


def end_nursery(seconds: float = 10.0) -> None:
    """End it, if there is one, and wait until it is gone. Keepers that still are there are waited for."""
    with _house.lock:
        old, _house.nursery = [*_house.retired, *([_house.nursery] if _house.nursery else [])], None
        _house.retired = []
    for each in old:
        each.retire()
        each.wait(seconds)


def reach() -> Reach:
    """What the end of a server ends, here: as a keeper has told, or as it looks before there was one."""
    if _house.without:
        return "group while we live"
    if _house.reach is not None:
        return _house.reach
    with _ourselves() as handle:
        return "tree" if handle >= 0 and sys.platform == "linux" and Path("/proc/self/stat").exists() else "group"


def why_without() -> str:
    """Why there are no keepers, if there are none."""
    return _house.without
