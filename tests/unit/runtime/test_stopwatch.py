"""Time is counted towards the step that was named."""

from bascule.runtime.stopwatch import Stopwatch


def test_every_mark_gets_the_time_since_the_one_before():
    watch = Stopwatch()
    watch.mark("resolve")
    watch.mark("send")
    assert list(watch.steps) == ["resolve", "send"]
    assert all(seconds >= 0 for seconds in watch.steps.values())


def test_a_step_that_comes_round_again_is_added_up():
    watch = Stopwatch()
    watch.mark("decide")
    first = watch.steps["decide"]
    watch.mark("lease")
    watch.mark("decide")
    assert watch.steps["decide"] > first
    assert list(watch.steps) == ["decide", "lease"]
