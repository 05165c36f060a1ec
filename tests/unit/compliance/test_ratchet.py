import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bascule.compliance.ratchet import Ratchet
from bascule.core.sensitivity import DataSensitivity, Lane

levels = st.sampled_from(list(DataSensitivity))


def test_a_session_begins_public_and_in_the_open_lane():
    ratchet = Ratchet()

    assert (ratchet.level, ratchet.lane) == (DataSensitivity.PUBLIC, Lane.OPEN)


def test_a_session_can_begin_where_it_stood():
    assert Ratchet(DataSensitivity.SECRET).lane is Lane.SEALED


@settings(deadline=None)
@given(levels, st.lists(levels))
def test_whatever_is_asked_the_level_only_ever_rises(start: DataSensitivity, asked: list[DataSensitivity]):
    ratchet = Ratchet(start)
    for level in asked:
        before, epoch = ratchet.level, ratchet.epoch
        moved = ratchet.raise_to(level)

        assert ratchet.level == max(before, level)
        assert moved == (level > before)
        assert ratchet.epoch == epoch + moved


@pytest.mark.parametrize(
    ("level", "lane"),
    [
        (DataSensitivity.PUBLIC, Lane.OPEN),
        (DataSensitivity.INTERNAL, Lane.OPEN),
        (DataSensitivity.CONFIDENTIAL, Lane.PROXIED),
        (DataSensitivity.SECRET, Lane.SEALED),
    ],
)
def test_each_level_has_its_lane(level: DataSensitivity, lane: Lane):
    assert Ratchet(level).lane is lane


def test_a_permit_is_good_until_the_session_rises():
    ratchet = Ratchet()
    before = ratchet.permit()
    ratchet.raise_to(DataSensitivity.PUBLIC)
    assert before.valid()

    ratchet.raise_to(DataSensitivity.INTERNAL)

    assert not before.valid()
    assert ratchet.permit().valid()


def test_a_permit_once_lost_stays_lost():
    ratchet = Ratchet()
    permit = ratchet.permit()
    for level in (DataSensitivity.SECRET, DataSensitivity.PUBLIC):
        ratchet.raise_to(level)

        assert not permit.valid()
