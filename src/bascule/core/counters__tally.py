"""Bytes that went and came, counted where they are known."""

from collections.abc import Callable

from bascule.core.counters import Window


class Tally:
    """The bytes of one principal at one server within the last minute. Transports add to it what a request carries."""

    __slots__ = ("_clock", "window")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.window = Window()

    def add(self, size: int) -> None:
        self.window.add(size, self._clock())
