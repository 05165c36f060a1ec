"""A corpus of ways out of a sandbox: each delivers with the defence off, and none from a private lane, in either engine."""

import pytest

from hostile.ways_out.way import PRIVATE, WAYS, Way
from support.bwrap import skip_without_bubblewrap
from support.ways_out import Stages, tried

pytestmark = pytest.mark.long

FEWEST = 80
"""Ways that must have been seen to deliver with the defence off."""


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def stages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, scale: int) -> Stages:
    if request.param == "bubblewrap":
        skip_without_bubblewrap()
    return tried(request.param, tmp_path_factory.mktemp("ways"), scale)


def excepted(way: Way, lane: str) -> bool:
    return bool(way.exception) and lane in way.except_in


def test_each_way_delivers_with_the_defence_off(stages: Stages):
    off = stages["off"]
    delivering = [way.name for way in WAYS.values() if off.delivered(way)]
    silent = {way.name: off.notes(way) for way in WAYS.values() if not off.delivered(way) and not off.absent(way)}

    assert silent == {}
    assert len(delivering) >= FEWEST


@pytest.mark.parametrize("lane", PRIVATE)
def test_no_way_delivers_from_a_private_lane(stages: Stages, lane: str):
    stage = stages[lane]
    out = [
        f"{way.name}: {stage.notes(way)}" for way in WAYS.values() if stage.delivered(way) and not excepted(way, lane)
    ]

    assert not out, f"{len(out)} of {len(WAYS)} ways lead out of the {lane} lane:\n" + "\n".join(out)


def test_each_stated_exception_is_one(stages: Stages):
    """An exception of a way that delivers in no lane would hide the next one that does. One lane is enough: on a busy
    machine a signal by time, such as the page cache, may be lost."""
    stale = [
        way.name
        for way in WAYS.values()
        if way.exception and not any(stages[lane].delivered(way) for lane in way.except_in)
    ]

    assert stale == []
