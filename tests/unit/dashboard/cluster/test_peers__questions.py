"""Questions between workers."""

import msgspec
import pytest

from bascule.dashboard.cluster.peers import Answers, Question
from bascule.dashboard.views.shapes import News, Overview
from support.dashboards import many_calls, office
from support.waiting import fail_after
from support.watched import watched


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
