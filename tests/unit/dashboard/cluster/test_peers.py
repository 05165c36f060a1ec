"""Dashboard queries between workers, and peers that do not answer."""

from collections.abc import Mapping

import msgspec
import pytest
from msgspec.json import Decoder

from bascule.dashboard.cluster.peers import QUIET, SAID, Answers, Others, Question
from bascule.dashboard.views.shapes import News, Overview
from bascule.gateway.cluster.peers import Silent
from bascule.store.owners import Member
from support.dashboards import many_calls, office
from support.waiting import fail_after
from support.watched import watched

NUMBER: Decoder[int] = Decoder(int)


class Neighbours:
    """Each says what it is told to say."""

    def __init__(self, **says: bytes | None) -> None:
        self.says: Mapping[str, bytes | None] = says
        self.asked: list[str] = []

    def others(self) -> tuple[Member, ...]:
        return tuple(Member(name, "") for name in self.says)

    async def ask(self, member: Member, question: bytes, limit: float) -> bytes:
        assert question.startswith(b'{"what":"overview"')
        assert limit > 0
        self.asked.append(member.id)
        said = self.says[member.id]
        if said is None:
            raise Silent("nothing")
        return said


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_one_that_is_silent_or_not_understood_is_left_alone_for_a_while_and_named():
    there, clock = Neighbours(one=b"1", two=None, three=b"{"), Clock()
    others = Others(there, clock)
    for id_ in there.says:
        others.name(Member(id_, ""), f"worker {id_}")
    assert [told for _, told in await others.ask(Question("overview"), NUMBER)] == [1]
    assert others.said() == "Worker two, worker three do not answer: what is served there is not shown."
    there.asked.clear()
    await others.ask(Question("overview"), NUMBER)
    assert there.asked == ["one"]
    clock.now += QUIET
    there.says = {"one": b"1", "two": b"2", "three": b"3"}
    assert [told for _, told in await others.ask(Question("overview"), NUMBER)] == [1, 2, 3]
    assert others.said() == ""


async def test_one_that_has_ended_is_told_of_for_a_while():
    there, clock = Neighbours(one=b"1"), Clock()
    others = Others(there, clock)
    others.name(Member("one", ""), "worker 1")
    there.says = {}
    assert others.said() == "Ended a moment ago: worker 1. What was served there is no longer shown."
    clock.now += SAID
    assert others.said() == ""


async def test_who_is_asked_alone_is_told_of_silence():
    others = Others(Neighbours(one=None))
    with pytest.raises(Silent):
        await others.ask_one(Member("one", ""), Question("overview"), NUMBER)
    assert others.said().startswith("A worker does not answer")


async def test_a_question_is_answered_and_what_is_none_is_not():
    async with fail_after(30), watched(*office()) as seen:
        answers = Answers(seen.views, seen.deeds, seen.runtime.oversight.look_again)
        told = await answers(msgspec.json.encode(Question("overview")))
        assert msgspec.json.decode(told, type=Overview).calls == 0
        assert await answers(msgspec.json.encode(Question("look_again"))) == b"null"
        for wrong in (b"", b"{}", b'{"what":"__class__"}', b'{"what":"session","session_id":7}', b"[]"):
            with pytest.raises(ValueError, match=r"known here|xpected|malformed|missing|truncated"):
                await answers(wrong)


async def test_whoever_asks_for_news_waits_for_some_and_not_for_ever():
    async with fail_after(30), watched(*office()) as seen:
        answers = Answers(seen.views, seen.deeds, seen.runtime.oversight.look_again)

        async def news(last: str) -> News:
            return msgspec.json.decode(await answers(msgspec.json.encode(Question("news", name=last))), type=News)

        first = await news("")
        assert (await news(first.id)).topics == ()
        many_calls(seen.feed, 1)
        after = await news(first.id)
        assert "calls" in after.topics
        assert after.id != first.id
