"""Sliding-window counters."""

import pytest

from bascule.core.counters import GRAIN, MINUTE, Tally, Window


def test_what_is_a_minute_old_is_forgotten_and_nothing_before():
    window = Window()
    window.add(3, 100.0)
    window.add(4, 130.0)

    assert window.within(130.0) == 7
    assert window.within(100.0 + MINUTE) == 7
    assert window.within(100.0 + MINUTE + GRAIN) == 4
    assert window.within(130.0 + MINUTE + GRAIN) == 0


@pytest.mark.parametrize(("limit", "wait"), [(11, 0), (10, 50), (7, 50), (6, 70), (1, 80)])
def test_it_is_known_when_less_than_a_limit_is_left(limit: int, wait: float):
    window = Window()
    for amount, at in ((4, 100.0), (5, 120.0), (1, 130.0)):
        window.add(amount, at)

    assert window.eases(limit, 110.0) == pytest.approx(wait + GRAIN if wait else 0)


def test_when_it_has_eased_less_is_left():
    window = Window()
    for number in range(50):
        window.add(1, number * 0.7)
    now = 40.0
    for limit in range(1, 52):
        eased = now + window.eases(limit, now) + 1e-6
        copy = Window()
        for number in range(50):
            copy.add(1, number * 0.7)
        assert copy.within(eased) < limit


def test_what_comes_in_quick_succession_is_kept_as_one():
    window = Window()
    for number in range(100_000):
        window.add(1, number * 0.001)

    assert window.within(100.0) == pytest.approx(60_000, rel=0.01)
    assert len(window) <= MINUTE / GRAIN + 2


def test_without_anything_there_is_nothing_to_wait_for():
    assert Window().within(5.0) == 0
    assert Window().eases(1, 5.0) == 0


def test_bytes_count_from_the_moment_in_which_they_were_added():
    now = 10.0
    tally = Tally(lambda: now)
    tally.add(5)
    now = 40.0
    tally.add(7)

    assert tally.window.within(69.0) == 12
    assert tally.window.within(71.0) == 7
