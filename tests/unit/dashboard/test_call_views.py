"""A call as the bars of a waterfall."""

from bascule.dashboard.call_views import steps_of


def test_steps_stand_one_after_another_and_the_rest_after_them():
    steps = [*steps_of({"resolve": 0.25, "send": 0.5}, 1.0)]
    told = [(step.name, step.start, step.seconds) for step in steps]
    assert told == [("resolve", 0.0, 0.25), ("send", 0.25, 0.5), ("rest", 0.75, 0.25)]


def test_where_nothing_came_after_the_last_step_there_is_no_rest():
    assert [step.name for step in steps_of({"send": 1.0}, 1.0)] == ["send"]
    assert [*steps_of({}, 0.0)] == []
