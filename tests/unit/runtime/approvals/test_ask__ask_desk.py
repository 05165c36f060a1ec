"""Calls that wait at a desk."""

import pytest

from bascule.core.client_features import Approval
from bascule.runtime.approvals.ask import AskDesk
from support.links import ALICE

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
