"""Pending approvals: only a person's True lets a call go on."""

import asyncio
from typing import Any

import pytest

from bascule.core.client_features import Approval
from bascule.core.errors import Refused
from bascule.policy.verdict import Ask
from bascule.runtime.approvals.ask import AskDesk, Asking
from support.links import ALICE
from support.waiting import fail_after

VERDICT = Ask("person_agrees", "work_act of work waits for a person to agree")


async def ask(asking: Asking) -> None:
    async with fail_after(20, "an answer"):
        await asking.agree(VERDICT, ("work_act", "work", "act"), ALICE, {"n": 1})


async def refused(asking: Asking) -> Refused:
    with pytest.raises(Refused) as caught:
        await ask(asking)
    assert caught.value.rule == "person_agrees"
    assert caught.value.message.startswith(VERDICT.message)
    return caught.value


async def test_a_person_who_agrees_lets_it_go_on():
    asked: list[Approval] = []

    def person(approval: Approval) -> bool:
        asked.append(approval)
        return True

    await ask(Asking(person))
    assert asked == [Approval("work_act", "work", "act", ALICE, {"n": 1}, VERDICT.message)]


@pytest.mark.parametrize("said", [False, 0, 1, "yes", [True], object()])
async def test_nothing_but_true_is_agreement(said: Any):
    assert "did not agree" in (await refused(Asking(lambda _: said))).message


async def test_a_callback_that_breaks_has_not_agreed():
    def broken(_: Approval) -> bool:
        raise ValueError("password is hunter2")

    error = await refused(Asking(broken))
    assert "did not agree" in error.message
    assert "hunter2" not in error.message


async def never(_: Approval) -> bool:
    await asyncio.get_running_loop().create_future()
    return True


async def nothing(_: Approval) -> Any:
    return None


@pytest.mark.parametrize("silent", [never, nothing])
async def test_silence_is_no_consent(silent: Any):
    error = await refused(Asking(silent, limit=0.01))
    assert "nobody answered" in error.message
    assert "again" in error.fix


async def test_where_nobody_can_be_asked_the_operator_is_told_what_to_do():
    error = await refused(Asking())
    assert "nobody can be asked" in error.message
    assert "on_ask" in error.fix


APPROVAL = Approval("work_act", "work", "act", ALICE, {}, "waits")


async def test_the_first_answer_counts():
    desk = AskDesk(lambda: 10.0)
    with desk.put(APPROVAL, 5.0) as waiting:
        assert desk.waiting() == (waiting,)
        assert (waiting.since, waiting.until) == (10.0, 15.0)
        assert desk.answer(waiting.id, "olga", agree=True) is waiting
        assert desk.answer(waiting.id, "oscar", agree=False) is None
        assert await waiting.answered == (True, "olga")
    assert desk.waiting() == ()


async def test_what_waits_no_more_cannot_be_answered():
    desk = AskDesk(lambda: 10.0)
    with pytest.raises(ValueError, match="left"), desk.put(APPROVAL, 5.0) as waiting:
        raise ValueError("left")
    assert desk.answer(waiting.id, "olga", agree=True) is None
    assert waiting.answered.cancelled()
