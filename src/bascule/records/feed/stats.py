"""Call statistics of one tool: number, outcomes and duration percentiles, in fixed space."""

from bisect import bisect_left
from math import inf

from bascule.records.feed.calls import OK

FINEST = 0.00005
"""Seconds: the shortest call that is told from a shorter one."""

RATIO = 1.2
"""Of each bound to the one before. What is told of a duration is off by a tenth at most."""

BOUNDS = tuple(FINEST * RATIO**power for power in range(90))
"""Seconds, from 50 µs to nine minutes."""


class Tally:
    """The calls of one tool."""

    __slots__ = ("_failed", "buckets", "calls", "failures", "last")

    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self._failed: dict[str, int] = {}
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.last = -inf
        """When the last one ended."""

    def add(self, outcome: str, seconds: float, at: float, *, failed: bool) -> None:
        self.calls += 1
        if failed:
            self.failures += 1
            self._failed[outcome] = self._failed.get(outcome, 0) + 1
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.last = max(self.last, at)

    @property
    def kinds(self) -> dict[str, int]:
        """How many ended in each way. The ways are a closed set."""
        well = self.calls - self.failures
        return {OK: well, **self._failed} if well else {**self._failed}

    def percentile(self, part: float) -> float | None:
        """The duration that this part of the calls (0.5, 0.99) did not exceed. None before the first call."""
        return percentile(self.buckets, part)


def percentile(buckets: list[int], part: float) -> float | None:
    """Somewhere in the bucket in which it lies, as if the calls were spread evenly there."""
    total = sum(buckets)
    if not total:
        return None
    wanted, below = part * total, 0
    for index, count in enumerate(buckets):
        if count and below + count >= wanted:
            low = BOUNDS[index - 1] if index else 0.0
            high = BOUNDS[index] if index < len(BOUNDS) else BOUNDS[-1]
            return low + (high - low) * min(1.0, max(0.0, (wanted - below) / count))
        below += count
    return BOUNDS[-1]
