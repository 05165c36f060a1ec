"""Who is asked when a server asks something in the middle of a request."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from bascule.core.client_features import Decline, Respondent
from bascule.core.errors import ProtocolViolation, Refused
from bascule.core.json_types import JsonObject
from bascule.core.request import Permit
from bascule.core.sensitivity import Lane
from bascule.runtime.server_requests.in_flight import MOST_ASKED, Errand, UnderWay
from bascule.runtime.server_requests.parse import ELICIT, ROOTS, SAMPLE
from bascule.upstream.key import LinkKey
from bascule.wire.input_required import Question
from support.links import ALICE
from support.waiting import fail_after, until

PERSON, MODEL = Respondent(lambda _: Decline()), Respondent(on_sample=lambda _: None)


class AsLink:
    """As much of a link as a question shows."""

    key = LinkKey("work", Lane.OPEN, ALICE)

    async def notify(self, method: str, permit: Permit | None) -> None:
        raise AssertionError


def test_the_oldest_that_can_answer_is_asked():
    under_way, link, other = UnderWay(), AsLink(), Respondent(lambda _: Decline())
    with under_way.during(link, MODEL), under_way.during(link, PERSON), under_way.during(link, other):
        found = [under_way.find(link, Question(method, {})) for method in (SAMPLE, ELICIT, ROOTS)]
    assert [None if errand is None else errand.respondent for errand in found] == [MODEL, PERSON, None]
    assert found[1] is not None
    assert found[1].respondent is PERSON


def test_what_is_over_or_on_another_link_is_not_asked():
    under_way, link = UnderWay(), AsLink()
    with under_way.during(link, PERSON):
        assert under_way.find(AsLink(), Question(ELICIT, {})) is None
    assert under_way.find(link, Question(ELICIT, {})) is None
    assert not under_way._errands


async def test_a_question_that_is_open_ends_with_the_request():
    errand, begun = Errand(PERSON), asyncio.Event()

    async def thinking() -> JsonObject:
        begun.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    waiting = asyncio.ensure_future(errand.put("work", thinking()))
    async with fail_after(10, "the end of a question"):
        await begun.wait()
        errand.end()
        with pytest.raises(Refused, match="is over"):
            await waiting


async def test_a_server_that_takes_its_question_back_ends_it_too():
    errand, ended = Errand(PERSON), False

    async def thinking() -> JsonObject:
        nonlocal ended
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            ended = True

    waiting = asyncio.ensure_future(errand.put("work", thinking()))
    await until(lambda: bool(errand._open))
    waiting.cancel()
    await until(lambda: ended)
    assert not errand._open


async def test_a_server_does_not_ask_for_ever():
    errand, asked = Errand(PERSON), 0

    def asking() -> Coroutine[Any, Any, JsonObject]:
        async def one() -> JsonObject:
            nonlocal asked
            asked += 1
            return {}

        return one()

    for _ in range(MOST_ASKED):
        await errand.put("work", asking())
    with pytest.raises(ProtocolViolation, match=f"more than {MOST_ASKED} questions"):
        await errand.put("work", asking())
    assert asked == MOST_ASKED
