"""Sliding-window counters for rate limits: amounts of the last 60 s, and the bytes of one principal at one server."""

from collections import deque
from collections.abc import Callable

MINUTE = 60.0

GRAIN = 0.05
"""Seconds within which additions count as one. It bounds what is kept, whatever the limit, and makes an addition count
by so much longer at most."""


class Window:
    """An amount of which each part is forgotten when it is a minute old. Time is given to it, in seconds."""

    __slots__ = ("_amount", "_parts")

    def __init__(self) -> None:
        self._amount = 0
        self._parts: deque[list[float]] | tuple[()] = ()
        """Each the instant at which it was complete, and how much it is. A deque only while there are parts: an empty
        one takes 600 bytes."""

    def __len__(self) -> int:
        """How many parts are kept."""
        return len(self._parts)

    def add(self, amount: int, now: float) -> None:
        if self._parts and now < self._parts[-1][0]:
            self._parts[-1][1] += amount
        else:
            self.within(now)
            self._parts = self._parts or deque()
            self._parts.append([now + GRAIN, amount])
        self._amount += amount

    def within(self, now: float) -> int:
        """The amount of the last minute."""
        while self._parts and self._parts[0][0] <= now - MINUTE:
            self._amount -= int(self._parts.popleft()[1])
        return self._amount

    def eases(self, limit: int, now: float) -> float:
        """Seconds until the amount is below a limit, if nothing is added."""
        left = self.within(now)
        wait = 0.0
        for complete, amount in self._parts:
            if left < limit:
                break
            left -= int(amount)
            wait = complete + MINUTE - now
        return wait


class Tally:
    """The bytes of one principal at one server within the last minute. Transports add to it what a request carries."""

    __slots__ = ("_clock", "window")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.window = Window()

    def add(self, size: int) -> None:
        self.window.add(size, self._clock())
