"""The end of what runs in a container, from outside: for when its engine does not answer, and the container goes on."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PROCESSES = Path("/proc")

PAUSE = 0.01
STRUCK_WITHIN = 5.0
"""Seconds for what was killed to be gone. It takes milliseconds, unless the kernel is busy for it."""


def processes_of(container: str) -> list[int]:
    """What runs in a container, as far as it is to be seen from here: its id stands in the name of its cgroup."""
    return [int(path.name) for path in PROCESSES.iterdir() if path.name.isdigit() and _is_in(path, container)]


def strike(container: str) -> bool:
    """Kill all that runs in a container. Whether nothing of it is left; that is known only of one in which something
    was seen before."""
    deadline = time.monotonic() + STRUCK_WITHIN
    while running := processes_of(container):
        for pid in running:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def _is_in(path: Path, container: str) -> bool:
    try:
        groups = (path / "cgroup").read_text()
        # What has ended stays in its group until somebody asks how.
        return container in groups and ") Z " not in (path / "stat").read_text()
    except OSError:
        return False
