"""A call as the bars of a waterfall."""

import pytest

from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.dashboard.views.calls import place_of, step_after, steps_of, under_way_row
from bascule.runtime.admin import Begun


def test_steps_stand_one_after_another_and_the_rest_after_them():
    steps = [*steps_of({"resolve": 0.25, "send": 0.5}, 1.0)]
    told = [(step.name, step.start, step.seconds) for step in steps]
    assert told == [("resolve", 0.0, 0.25), ("send", 0.25, 0.5), ("rest", 0.75, 0.25)]


def test_where_nothing_came_after_the_last_step_there_is_no_rest():
    assert [step.name for step in steps_of({"send": 1.0}, 1.0)] == ["send"]
    assert [*steps_of({}, 0.0)] == []


def test_the_last_step_of_a_call_that_failed_is_the_one_in_which_it_did():
    steps = {"resolve": 0.1, "validate": 0.1, "decide": 0.1, "lease": 0.1}
    assert [step.name for step in steps_of(steps, 4.0, failed=True)][-1] == "send"
    assert [step.name for step in steps_of({}, 1.0, failed=True)] == ["resolve"]


@pytest.mark.parametrize(("last", "now"), [("decide", "lease"), ("ask", "decide"), ("wrapper", "rest")])
def test_a_request_is_in_the_step_after_the_last(last: str, now: str):
    assert step_after({"resolve": 0.1, last: 0.1}) == now


def test_a_request_under_way_is_told_with_the_step_it_is_in():
    begun = Begun(Principal("a", "s"), "x", "w", "tools/call", Lane.OPEN, 10.0, {"resolve": 0.5}, waits=False)
    row = under_way_row(begun, "shown", (1000.0, 13.0))
    assert (row.name, row.seconds, row.began, row.step) == ("shown", 3.0, 997.0, "validate")
    assert [(step.name, step.start, step.seconds) for step in row.steps] == [
        ("resolve", 0.0, 0.5),
        ("validate", 0.5, 2.5),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12.5-ab-7", (12.5, "ab", 7)),
        ("12-ab-7", (12.0, "ab", 7)),
        ("", None),
        ("nan-ab-7", None),
        ("1e3-ab-7", None),
        ("1.5-AB-7", None),
        ("١-ab-7", None),
        ("1-ab-" + "9" * 30, None),
    ],
)
def test_a_place_is_read_or_is_none(text: str, found: object):
    assert place_of(text) == found
