"""Steps of the story, and the verification of its audit log."""

from bascule.demo.story.play import played
from bascule.demo.story.stage import stage
from bascule.demo.story.steps import LOG, Command, Ending, Line, Step, prove
from support.waiting import fail_after


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


async def test_what_was_done_can_be_verified_and_what_was_changed_is_found():
    with stage() as place:
        async with fail_after(60), played(place) as play:
            await play.scenes[1][2](Step("send", ""))
        step = Step("audit", "")
        await prove(step, place.home)

    assert step.missed == []
    assert step.facts["records"] > 0
    assert (step.facts["verified"], step.facts["tampered_found"]) == (True, True)


async def test_a_log_that_was_changed_already_is_no_proof():
    with stage() as place:
        async with fail_after(60), played(place) as play:
            await play.scenes[1][2](Step("send", ""))
        log = place.home / LOG
        log.write_bytes(log.read_bytes().replace(b'"send"', b'"read"', 1))
        step = Step("audit", "")
        await prove(step, place.home)

    assert step.missed[0].startswith("the log can be verified; instead: ")
    assert step.facts["verified"] is False


async def test_a_log_in_which_there_is_nothing_to_change_is_no_proof():
    with stage() as place:
        async with fail_after(60), played(place):
            pass
        step = Step("audit", "")
        await prove(step, place.home)

    assert step.missed == ["a log that was changed is found out"]
