"""Measuring memory sees what was taken for a moment only, and not what was taken before."""

import pytest

from support.memory import measured_growth

MUCH = 200 * 1024 * 1024


def taken_for_a_moment() -> None:
    bytearray(MUCH)[:] = b"x" * MUCH


@pytest.mark.long
def test_memory_that_was_given_back_is_seen():
    with measured_growth() as growth:
        taken_for_a_moment()
    assert growth.peak > MUCH // 2


@pytest.mark.long
def test_memory_from_before_is_not_counted():
    taken_for_a_moment()
    with measured_growth() as growth:
        pass
    assert growth.peak < MUCH // 2
