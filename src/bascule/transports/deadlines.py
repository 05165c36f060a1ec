"""Deadline timer: one timer of the event loop for many waits, because a timer per request costs more than all else."""

import asyncio
from collections.abc import Callable, Iterable
from math import inf
from typing import Protocol


class Waiting(Protocol):
    """Something with a deadline, in seconds of the loop's clock."""

    deadline: float

    def expire(self) -> None: ...


TOGETHER = 0.005
"""Seconds by which a deadline may be kept late when another was just kept."""


FAR = 3600.0
"""Seconds that the timer is set ahead at most: a subscription may wait for ever, and no loop counts so far."""


class Deadlines:
    """Calls `expire` on whatever waits beyond its deadline, at that deadline or a few milliseconds later.

    `waiting` gives all that waits now. Most deadlines pass unneeded: what was answered in time is simply not there
    any more when the timer fires.
    """

    __slots__ = ("_due_at", "_loop", "_timer", "_waiting")

    def __init__(self, waiting: Callable[[], Iterable[Waiting]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting = waiting
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = inf

    def keep(self, deadline: float) -> None:
        """See to it that this deadline is kept."""
        if deadline < self._due_at or self._timer is None:
            self.stop()
            self._due_at = min(deadline, self._loop.time() + FAR)
            self._timer = self._loop.call_at(self._due_at, self._due)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._due_at = None, inf

    def _due(self) -> None:
        self._timer, self._due_at = None, inf
        now = self._loop.time()
        waiting = list(self._waiting())
        for one in waiting:
            if one.deadline <= now:
                one.expire()
        later = [one.deadline for one in waiting if one.deadline > now]
        if later:
            # Many deadlines close to each other are kept together: looking through all for each would be quadratic.
            self.keep(max(min(later), now + TOGETHER))
