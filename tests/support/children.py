"""Child processes of this test process that a test has left behind."""

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

MOMENT = 3.0
"""Seconds a child has to be gone after its test: a process that was killed is a zombie until somebody has waited for it."""

_TASKS = Path("/proc/self/task")
_KEPT = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""What the standard library starts once per process, and keeps."""


def children() -> frozenset[int]:
    """The pids of our direct children. The kernel's own list costs microseconds, walking all processes milliseconds."""
    try:
        listed = [(task / "children").read_text() for task in _TASKS.iterdir()]
    except OSError:  # not Linux, or a thread ended while we looked
        return frozenset(child.pid for child in psutil.Process().children())
    return frozenset(int(pid) for line in listed for pid in line.split())


def servers_alive(before: frozenset[int]) -> frozenset[int]:
    """The pids of servers that run for us, beside what was there `before`. A child of ours keeps its pid until we have
    waited for it, so that a signal to one of these can reach nobody else."""
    return children() - before


def left_behind(before: frozenset[int]) -> list[str]:
    """Wait a moment for children that were not there `before`; end those that stay, and say what they were."""
    deadline = time.monotonic() + MOMENT
    while new := children() - before:
        if time.monotonic() > deadline:
            return [line for pid in sorted(new) for line in _end(pid)]
        time.sleep(0.01)
    return []


def _end(pid: int) -> list[str]:
    """Kill one child and its descendants, each by its pid."""
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
