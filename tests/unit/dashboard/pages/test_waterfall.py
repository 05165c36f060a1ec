"""Where the bars of calls stand."""

import pytest

from bascule.dashboard.pages.waterfall import LEAST, WIDTH, alone, growing, placed, waterfall
from bascule.dashboard.views.shapes import CallRow, StepView, UnderWay


def call(began: float, seconds: float, **steps: float) -> CallRow:
    at, views = 0.0, list[StepView]()
    for name, took in steps.items():
        views.append(StepView(name, at, took))
        at += took
    return CallRow(
        *(
            "f-1",
            began + seconds,
            seconds,
            "id",
            "alice",
            "s-1",
            "notes_search",
            "notes",
            "tools/call",
            "open",
            "ok",
            "",
            "",
        ),
        steps=tuple(views),
    )


def test_one_call_fills_the_room_with_its_steps_in_their_shares():
    (drawn,) = waterfall([call(100.0, 0.1, decide=0.025, send=0.075)])
    assert [(bar.step, bar.x, bar.width) for bar in drawn.bars] == [("decide", 0.0, 250.0), ("send", 250.0, 750.0)]


def test_calls_stand_where_they_were_in_time():
    first, second = waterfall([call(100.0, 1.0, send=1.0), call(101.0, 1.0, send=1.0)])
    assert (first.bars[0].x, second.bars[0].x) == (0.0, 500.0)


def test_calls_at_the_same_time_stand_below_each_other():
    first, second = waterfall([call(100.0, 1.0), call(100.0, 1.0)])
    assert first.bars == second.bars


def test_a_long_pause_is_cut_short_and_the_order_stays():
    first, second = waterfall([call(0.0, 0.5, send=0.5), call(3600.0, 0.5, send=0.5)])
    assert first.bars[0].width > 400
    assert first.bars[0].x + first.bars[0].width < second.bars[0].x
    assert second.bars[0].width > 400


def test_what_took_no_time_can_still_be_seen_and_nothing_leaves_the_room():
    drawn = waterfall([call(0.0, 10.0, send=10.0), call(10.0, 0.0), call(10.0, -1.0)])
    for each in drawn:
        assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH + 0.1 for bar in each.bars)
        assert sum(bar.width for bar in each.bars) >= LEAST
    assert waterfall([]) == ()


def test_a_step_that_is_not_known_has_the_colour_of_the_rest():
    (drawn,) = waterfall([call(0.0, 1.0, **{"<script>": 1.0})])
    assert drawn.bars[0].step == "rest"


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 0.001, 1.0, 1000.0])
def test_a_call_by_itself_is_never_longer_than_the_longest(seconds: float):
    bars = alone(call(0.0, seconds, send=seconds), 1000.0)
    assert LEAST - 0.1 <= sum(bar.width for bar in bars) <= WIDTH


def test_a_longer_duration_is_further_along():
    places = [placed(value, 10.0) for value in (None, 0.001, 0.1, 10.0)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, WIDTH)


def test_a_request_that_has_not_ended_has_twice_the_room_once_it_has_filled_it():
    def at(seconds: float) -> list[tuple[str, float, float]]:
        steps = (StepView("lease", 0.0, 1.0), StepView("send", 1.0, seconds - 1.0))
        who = ("id", "alice", "s-1", "notes_search", "notes", "tools/call", "open", "send")
        return [(bar.step, bar.x, bar.width) for bar in growing(UnderWay("1", 0.0, seconds, *who, steps))]

    assert at(6.0) == [("lease", 0.0, 100.0), ("send", 100.0, 500.0)]
    assert at(16.0) == [("lease", 0.0, 50.0), ("send", 50.0, 750.0)]
