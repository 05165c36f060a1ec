"""Duration histograms with fixed buckets."""

from bisect import bisect_left
from collections.abc import Hashable
from typing import Generic, TypeVar

BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds. Those that the conventions advise."""

MOST_SERIES = 2000
"""Label sets of one metric. Names that nobody could foresee would else fill our memory, and the collector's."""

Labels = TypeVar("Labels", bound=Hashable)


class Histogram:
    """Durations under one set of labels."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        """How many lie at or below each bound and above the one before; the last are those beyond all."""
        self.count = 0
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.count += 1
        self.total += seconds


class Histograms(Generic[Labels]):
    """One metric: a histogram for each set of labels, as long as there is room; then all others share one."""

    def __init__(self, rest: Labels) -> None:
        self._rest = rest
        self.series: dict[Labels, Histogram] = {}

    def add(self, labels: Labels, seconds: float) -> None:
        found = self.series.get(labels)
        if found is None:
            found = self._made(labels)
        found.add(seconds)

    def _made(self, labels: Labels) -> Histogram:
        if len(self.series) >= MOST_SERIES:
            labels = self._rest
        return self.series.setdefault(labels, Histogram())
