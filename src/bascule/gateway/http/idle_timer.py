"""When somebody is late with what they have to do next, at no cost for those who are in time."""

import asyncio
from collections.abc import Callable
from math import inf


class Lateness:
    """What one client is waited for. There is one timer, which is set anew only if it would go off too late: nearly
    always what is expected has come long before, and something else is expected later."""

    __slots__ = ("_due", "_late", "_loop", "_rings", "_timer")

    def __init__(self, late: Callable[[], None]) -> None:
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._due = inf
        self._timer: asyncio.TimerHandle | None = None
        self._rings = inf

    def expect(self, within: float) -> None:
        """From now on, whatever was expected before."""
        due = self._due = self._loop.time() + within
        # Else the timer that runs sees to it.
        if due < self._rings:
            self._set(due)

    def expect_the_rest(self, within: float) -> None:
        """The same, unless less time is left for what was expected before."""
        self._set(min(self._due, self._loop.time() + within))

    def ease(self) -> None:
        """Nothing is expected."""
        self._due = inf

    def stop(self) -> None:
        """Nothing ever again. A timer that runs would keep all that it could tell."""
        self._due = inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, due: float) -> None:
        self._due = due
        if due < self._rings:
            if self._timer is not None:
                self._timer.cancel()
            self._rings = due
            self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer, self._rings = None, inf
        if self._due > self._loop.time():
            if self._due != inf:
                self._set(self._due)
        else:
            self._due = inf
            self._late()
