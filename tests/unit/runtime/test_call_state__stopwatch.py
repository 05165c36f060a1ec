"""Time is counted towards the step that was named."""

import pytest

from bascule.runtime.call_state import Steps


def timed(*marks: tuple[str, float]) -> Steps:
    steps = Steps()
    steps.started = 10.0
    steps.marks += marks
    return steps


def test_every_mark_gets_the_time_since_the_one_before():
    steps = timed(("resolve", 10.5), ("send", 12.5))
    assert dict(steps) == {"resolve": 0.5, "send": 2.0}
    assert (len(steps), steps["send"], repr(steps)) == (2, 2.0, "{'resolve': 0.5, 'send': 2.0}")


def test_a_step_that_comes_round_again_is_added_up():
    steps = timed(("decide", 11.0), ("lease", 13.0), ("decide", 13.5))
    assert dict(steps) == {"decide": 1.5, "lease": 2.0}


def test_a_step_that_was_not_taken_is_not_there():
    with pytest.raises(KeyError):
        timed()["send"]
