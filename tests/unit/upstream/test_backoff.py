"""How a link comes back, and when that is given up."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.upstream.backoff import JITTER, Comeback


def steady(attempts: int = 5, backoff: float = 2) -> Comeback:
    """Without chance."""
    return Comeback(attempts, backoff, lambda: 0.5)


def test_each_wait_is_twice_the_one_before_and_the_last_is_the_last():
    comeback, waits = steady(), list[float]()
    comeback.died(0, 1000)
    while comeback.due < inf:
        waits.append(comeback.due)
        comeback.failed(0)

    assert waits == [2, 4, 8, 16, 32]
    assert comeback.hold(0) == 0


def test_after_a_death_whoever_asks_may_try_at_once():
    comeback = steady()
    comeback.died(100, 5)

    assert comeback.due == 102
    assert comeback.hold(100) == 0


def test_after_a_failure_whoever_asks_is_told_to_wait_a_little():
    comeback = steady()
    comeback.died(100, 5)
    comeback.failed(101)

    assert comeback.due == 105
    assert comeback.hold(101) == 2
    assert comeback.hold(102) == 1
    assert comeback.hold(103) == 0


def test_a_link_that_lived_long_has_put_all_behind_it():
    comeback = steady()
    for _ in range(4):
        comeback.died(0, 1)
    assert comeback.due == 16
    comeback.died(0, comeback.steady)

    assert comeback.due == 2


def test_a_link_that_dies_again_and_again_is_left_alone():
    comeback = steady()
    for _ in range(6):
        comeback.died(0, comeback.steady - 0.1)

    assert comeback.due == inf


@given(chance=st.floats(0, 1, exclude_max=True), attempts=st.integers(1, 8), backoff=st.floats(0.01, 60))
def test_chance_moves_a_wait_by_a_quarter_at_most(chance: float, attempts: int, backoff: float):
    comeback = Comeback(attempts, backoff, lambda: chance)
    comeback.failed(0)
    for made in range(attempts):
        plain = backoff * 2**made
        assert plain * (1 - JITTER) <= comeback.due <= plain * (1 + JITTER)
        comeback.failed(0)

    assert comeback.due == inf


def test_what_died_together_does_not_come_back_together():
    early, late = Comeback(5, 2, lambda: 0.0), Comeback(5, 2, lambda: 0.999)
    for comeback in (early, late):
        comeback.died(0, 100)

    assert early.due == pytest.approx(1.5)
    assert late.due == pytest.approx(2.5, rel=0.01)
