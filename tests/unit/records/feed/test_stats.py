"""Percentiles from buckets of fixed number."""

import random

import pytest

from bascule.records.feed.stats import BOUNDS, Tally


def test_before_the_first_call_there_is_nothing_to_tell():
    assert Tally().percentile(0.5) is None


@pytest.mark.parametrize("part", [0.5, 0.9, 0.99])
def test_what_is_told_is_near_what_was(part: float):
    chance, tally = random.Random(7), Tally()
    took = sorted(chance.lognormvariate(-5, 1) for _ in range(5000))
    for seconds in took:
        tally.add("ok", seconds, 1.0, failed=False)

    assert tally.percentile(part) == pytest.approx(took[int(part * len(took))], rel=0.15)


def test_ways_to_end_are_counted_and_room_does_not_grow():
    tally = Tally()
    for seconds in (0.0, 1.0, 1e9):
        tally.add("timeout", seconds, seconds, failed=True)

    assert (tally.calls, tally.failures, tally.kinds, tally.last) == (3, 3, {"timeout": 3}, 1e9)
    tally.add("ok", 1.0, 2.0, failed=False)
    assert (tally.calls, tally.failures, tally.kinds, tally.last) == (4, 3, {"ok": 1, "timeout": 3}, 1e9)
    assert len(tally.buckets) == len(BOUNDS) + 1
    assert tally.percentile(1.0) == BOUNDS[-1]
