"""Process trees: subreaper, search for descendants, signals and reaping. Runs outside the package too: standard library
only."""

import os
import signal
import sys
import time
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from functools import cache

_SET_PDEATHSIG = 1
_SET_NAME = 15
_SET_CHILD_SUBREAPER = 36

PROC = "/proc"

MOMENT = 0.001
"""Seconds between two looks at processes that were killed and are not gone yet."""

Reaped = Callable[[int, int], None]
"""Told the pid and the exit code of every child that was waited for."""


def _prctl(option: int, value: int | bytes) -> bool:
    """Ask Linux for something about this process. False where it cannot be had."""
    call = _system_call()
    return call is not None and call(option, value, 0, 0, 0) == 0


@cache
def _system_call() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415 -- some builds of Python come without

        found = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_int, ctypes.c_void_p, *[ctypes.c_ulong] * 3]
    return found


def adopt_orphans() -> bool:
    """From now on, whatever loses its parent somewhere beneath this process becomes its child."""
    return _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> bool:
    """Have the kernel kill this process when the one that made it ends."""
    return _prctl(_SET_PDEATHSIG, int(signal.SIGKILL))


def be_called(name: bytes) -> bool:
    """The name that `ps` and `top` show; the first 15 bytes count."""
    return _prctl(_SET_NAME, name)


def visible() -> bool:
    """Whether the system tells which process is whose child, and lets one be held on to while it is signalled."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return parent_of(os.getpid()) == os.getppid()


def parent_of(pid: int) -> int | None:
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123 -- pathlib takes longer to import than all else
            # The name in the middle may hold anything, parentheses too.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def beneath(root: int, spared: Iterable[int] = ()) -> list[int]:
    """All descendants, parents first, without those that are spared and all that is beneath them."""
    found, seen = [root], {root, *spared}
    children = _children if os.path.exists(f"{PROC}/{root}/task/{root}/children") else _children_by_all()  # noqa: PTH110
    for pid in found:
        new = [child for child in children(pid) if child not in seen]
        seen.update(new)
        found += new
    return found[1:]


def _children(pid: int) -> list[int]:
    """As the kernel lists them. One may be missed while others end, so whoever needs all looks again."""
    found: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"{PROC}/{pid}/task"):  # noqa: PTH208
            with suppress(OSError), open(f"{PROC}/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123
                found += map(int, file.read().split())
    return found


def _children_by_all() -> Callable[[int], list[int]]:
    """Where the kernel keeps no such list, every process is asked for its parent."""
    families: dict[int | None, list[int]] = {}
    for name in os.listdir(PROC):  # noqa: PTH208
        if name.isdigit():
            families.setdefault(parent_of(int(name)), []).append(int(name))
    return lambda pid: families.get(pid, [])


def tell(pids: Iterable[int], number: int, family: Container[int | None]) -> None:
    """Signal each of these whose parent is in the family, and nobody who has come by the pid of one since."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            handle = os.pidfd_open(pid)
            try:
                # Asked while we hold the process: a pid that was used again has another parent.
                if parent_of(pid) in family:
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)


def reap(reaped: Reaped) -> bool:
    """Wait for every child that has ended. False when there is none left at all."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        reaped(pid, os.waitstatus_to_exitcode(status))


def clear(reaped: Reaped, seconds: float, spared: Callable[[], Iterable[int]] = tuple) -> list[int]:
    """End everything beneath this process. What is left in spite of it, for as long as it was given, is told."""
    me, deadline = os.getpid(), time.monotonic() + seconds
    while reap(reaped):
        left = _halted(me, spared, deadline)
        tell(left, signal.SIGKILL, {me, *left})
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(MOMENT)
    return []


def _halted(root: int, spared: Callable[[], Iterable[int]], deadline: float) -> list[int]:
    """Stop everything before anything is killed: what is stopped neither forks nor starts anew what it sees die."""
    stopped: list[int] = []
    while time.monotonic() < deadline:
        there = beneath(root, spared())
        new = set(there) - set(stopped)
        if not new:
            return there
        tell([pid for pid in there if pid in new], signal.SIGSTOP, {root, *there})
        stopped = there
    return beneath(root, spared())
