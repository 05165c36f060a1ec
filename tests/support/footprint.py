"""What a process holds on to: descriptors, processes, tasks, threads. Compared before and after, it tells what was left."""

import asyncio
import gc
import re
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from support.children import descendants

MOMENT = 5.0
"""Seconds that the other side of a connection, which may be in this process too, has to see its end."""

_OWN = re.compile(r"\[\d+\]$")


@dataclass(frozen=True)
class Footprint:
    """All of it at one moment."""

    descriptors: Counter[str]
    """By what they lead to: a path, or the kind of thing."""
    descendants: frozenset[int]
    tasks: frozenset[str]
    threads: frozenset[str]

    def beyond(self, before: "Footprint") -> str:
        """What is here and was not there before. Empty if there is no such thing."""
        found = {
            "descriptors": dict(self.descriptors - before.descriptors),
            "descendants": self.descendants - before.descendants,
            "tasks": self.tasks - before.tasks,
            "threads": self.threads - before.threads,
        }
        return ", ".join(f"{kind}: {what}" for kind, what in found.items() if what)


def footprint() -> Footprint:
    return Footprint(
        descriptors=Counter(_descriptors()),
        descendants=frozenset(descendants()),
        tasks=frozenset(repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()),
        # The loop keeps a few threads of its own for what blocks, and makes them when they are first needed.
        threads=frozenset(thread.name for thread in threading.enumerate() if not thread.name.startswith("asyncio_")),
    )


async def left_since(before: Footprint) -> str:
    """What is held that was not held `before`, and is not let go within a moment."""
    deadline = asyncio.get_running_loop().time() + MOMENT
    while True:
        # The last look is one after the moment is over, however long each takes on a busy machine.
        over = asyncio.get_running_loop().time() > deadline
        left = footprint().beyond(before)
        if not left or over:
            return left
        await asyncio.sleep(0.02)


def objects_alive() -> int:
    """How many objects the collector knows of, after it has run. What a finalizer lets go, only the next run finds."""
    for _ in range(3):
        gc.collect()
    return len(gc.get_objects())


def _descriptors() -> list[str]:
    found: list[str] = []
    for entry in Path("/proc/self/fd").iterdir():
        # The listing itself has one, which is gone by now.
        with suppress(FileNotFoundError):
            found.append(_OWN.sub("", str(entry.readlink())))
    return found
