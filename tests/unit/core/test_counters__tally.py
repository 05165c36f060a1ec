"""Bytes, counted by a clock that is given."""

from bascule.core.counters import Tally


def test_bytes_count_from_the_moment_in_which_they_were_added():
    now = 10.0
    tally = Tally(lambda: now)
    tally.add(5)
    now = 40.0
    tally.add(7)

    assert tally.window.within(69.0) == 12
    assert tally.window.within(71.0) == 7
