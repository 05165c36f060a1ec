"""Measuring memory sees what was taken for a moment only, and not what was taken before."""

from support.memory import measured_growth

MUCH = 200 * 1024 * 1024


def taken_for_a_moment() -> None:
    bytearray(MUCH)[:] = b"x" * MUCH


def test_memory_that_was_given_back_is_seen():
    with measured_growth() as growth:
        taken_for_a_moment()
    assert growth.peak > MUCH // 2


def test_memory_from_before_is_not_counted():
    taken_for_a_moment()
    with measured_growth() as growth:
        pass
    assert growth.peak < MUCH // 2
