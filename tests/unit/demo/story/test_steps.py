"""What is told."""

from bascule.demo.story.steps import Command, Ending, Line, Step


def test_a_step_that_went_as_told_has_missed_nothing():
    step = Step("read", "It reads")
    step.say("good", "It did.")
    step.expect(True, "it reads")

    assert step.ok
    assert step.lines == [Line("good", "It did.")]


def test_what_was_missed_is_kept_with_what_came_instead():
    step = Step("read", "It reads")
    step.expect(False, "it reads", "it wrote")
    step.expect(False, "it ends")

    assert not step.ok
    assert step.missed == ["it reads; instead: it wrote", "it ends"]


def test_nothing_is_also_something_that_came_instead():
    step = Step("read", "It reads")
    step.expect(False, "there are two", 0)

    assert step.missed == ["there are two; instead: 0"]


def test_the_whole_has_a_shape_for_programs():
    step = Step("read", "It reads")
    step.say("stop", "No.")
    step.facts["lane"] = "sealed"

    assert Ending(True, 1.23456, None, "not here", (Command("bascule list", "look"),)).shape([step]) == {
        "ok": True,
        "seconds": 1.235,
        "boxes": None,
        "why": "not here",
        "steps": [
            {
                "name": "read",
                "title": "It reads",
                "ok": True,
                "lines": [{"kind": "stop", "text": "No."}],
                "facts": {"lane": "sealed"},
                "missed": [],
            }
        ],
        "next": [{"command": "bascule list", "why": "look"}],
    }
