"""Levels and the lanes they leave open."""

import pytest

from bascule.core.sensitivity import DataSensitivity, Lane, lane_for


def test_levels_rise_in_this_order():
    assert list(DataSensitivity) == sorted(DataSensitivity)
    assert [level.name for level in DataSensitivity] == ["PUBLIC", "INTERNAL", "CONFIDENTIAL", "SECRET"]


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
    assert lane_for(level) is lane
