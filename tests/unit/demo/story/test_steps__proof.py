"""The log of the played session."""

from bascule.demo.story.play import played
from bascule.demo.story.stage import stage
from bascule.demo.story.steps import LOG, Step, prove
from support.waiting import fail_after


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
