"""Processes that a test has started, by whatever way, and has left behind."""

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

MOMENT = 3.0
"""Seconds a process has to be gone after its test: one that was killed is a zombie until somebody has waited for it."""

_PROC = Path("/proc")
_KEPT = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""What the standard library starts once per process, and keeps."""

_OURS = {"bascule-nursery", "bascule-keeper"}
"""The nursery is there from the first server on. A keeper is gone a moment after its server, which nobody waits for."""


_BROWSER = {"chromium", "chrome_crashpad", "chrome_crashpad_handler"}
"""A browser has processes of its own coming and going. It is there for a whole module of tests, whose fixture ends it."""


def children() -> frozenset[int]:
    """The pids of all beneath us, but for the nursery and its keepers. The kernel's own lists cost microseconds, walking
    all processes milliseconds."""
    # What has no name has ended just now.
    return frozenset(pid for pid in descendants() if name_of(pid) not in {*_OURS, *_BROWSER, ""})


def beneath() -> frozenset[int]:
    """The same with the keepers. Every test is looked at by this, before and after: all is seen in one walk."""
    return frozenset(pid for pid in descendants() if name_of(pid) not in {"bascule-nursery", *_BROWSER, ""})


def keepers() -> frozenset[int]:
    return frozenset(pid for pid in descendants() if name_of(pid) == "bascule-keeper")


def descendants() -> list[int]:
    found = [os.getpid()]
    for pid in found:
        found += _children_of(pid)
    return found[1:]


def _children_of(pid: int) -> list[int]:
    try:
        listed = [(task / "children").read_text() for task in (_PROC / str(pid) / "task").iterdir()]
    except OSError:  # not Linux, or it ended while we looked
        with suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(pid).children()]
        return []
    return [int(child) for line in listed for child in line.split()]


def name_of(pid: int) -> str:
    """As the kernel has it, which keeps fifteen letters."""
    try:
        return (_PROC / str(pid) / "comm").read_text().rstrip("\n")
    except OSError:
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(pid).name()
    return ""


_lasting: list[Callable[[], int | None]] = []


@contextmanager
def lasting(pid: Callable[[], int | None]) -> Generator[None]:
    """A server of more tests than one, which may be started anew in the course of any: `pid` gives what it has now."""
    _lasting.append(pid)
    try:
        yield
    finally:
        _lasting.remove(pid)


def _started_anew() -> Generator[int]:
    """Those that last, and their keepers."""
    for pid in [pid for find in _lasting if (pid := find()) is not None]:
        yield pid
        with suppress(psutil.NoSuchProcess):
            yield psutil.Process(pid).ppid()


def left_behind(before: frozenset[int]) -> list[str]:
    """Wait a moment for processes that were not there `before`; end those that stay, and say what they were."""
    deadline = time.monotonic() + MOMENT
    while (new := beneath() - before) and (new := new - {*_started_anew()}):
        if time.monotonic() > deadline:
            return [line for pid in sorted(new) for line in _end(pid)]
        time.sleep(0.01)
    return []


def _end(pid: int) -> list[str]:
    """Kill one process and its descendants, each by its pid."""
    try:
        child = psutil.Process(pid)
        family = [child, *child.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    lines = [_describe(member) for member in family]
    if any(kept in lines[0] for kept in _KEPT):
        return []
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return lines


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline())}"
    except psutil.ZombieProcess:
        return f"{process.pid}: has ended, but nobody waited for it"
    except psutil.NoSuchProcess:
        return f"{process.pid}: ended just now"
