"""One principal at one server, counted."""

import pytest

from bascule.config import Limits
from bascule.core.errors import LimitReached
from bascule.runtime.rate_meter import Meter


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def meter(clock: Clock) -> Meter:
    return Meter("work", clock)


def refused(meter: Meter, limits: Limits) -> LimitReached:
    with pytest.raises(LimitReached) as caught:
        meter.enter(limits)
    assert caught.value.rule == "within_limits"
    return caught.value


def test_as_many_calls_are_under_way_as_may_be_and_one_that_leaves_makes_room(meter: Meter, clock: Clock):
    limits = Limits(2)
    meter.enter(limits)
    meter.enter(limits)
    assert "`limits.concurrent` is 2" in refused(meter, limits).message
    meter.leave()
    meter.enter(limits)
    assert refused(meter, limits).retry_after == 1
    assert meter.under_way == 2


def test_a_call_of_which_only_the_number_is_limited_asks_no_clock(meter: Meter, clock: Clock):
    for limits in (Limits(), Limits(None)):
        meter.enter(limits)
        meter.leave()
    assert clock.asked == 0


def test_calls_count_for_a_minute_whenever_they_end(meter: Meter, clock: Clock):
    limits = Limits(None, per_minute=2)
    meter.enter(limits)
    meter.leave()
    clock.now += 20
    meter.enter(limits)
    clock.now += 30
    assert refused(meter, limits).retry_after == 11
    clock.now += 10.1
    meter.enter(limits)
    assert refused(meter, limits).retry_after == 20


def test_a_call_that_was_refused_does_not_count(meter: Meter, clock: Clock):
    limits = Limits(5, per_minute=1)
    meter.enter(limits)
    meter.leave()
    for _ in range(10):
        refused(meter, limits)
    clock.now += 60.1
    meter.enter(limits)
    assert meter.under_way == 1


def test_bytes_count_for_a_minute_and_the_last_call_may_take_more_than_there_are(meter: Meter, clock: Clock):
    limits = Limits(None, None, bytes_per_minute=100)
    meter.enter(limits)
    meter.tally.add(99)
    meter.enter(limits)
    clock.now += 10
    meter.tally.add(1_000_000)
    assert "1000099 bytes" in refused(meter, limits).message
    clock.now += 50.1
    assert refused(meter, limits).retry_after == 10
    clock.now += 10
    meter.enter(limits)


def test_other_limits_hold_from_the_next_call_on(meter: Meter, clock: Clock):
    meter.enter(Limits(3, per_minute=3))
    meter.enter(Limits(3, per_minute=3))
    refused(meter, Limits(2, per_minute=3))
    assert refused(meter, Limits(3, per_minute=1)).retry_after == 61
    meter.enter(Limits(3))
