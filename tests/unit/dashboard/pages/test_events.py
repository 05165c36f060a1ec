"""The stream of news."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from bascule.dashboard.pages.events import RETRY, event, going_on, news_stream
from bascule.dashboard.views.interface import views_of
from bascule.dashboard.views.shapes import News
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.listen import MOST_OF_ONE, Streams
from support.dashboards import many_calls, office, shown
from support.waiting import fail_after


def test_an_event_tells_what_to_look_at_and_nobodys_words():
    told = event(News("f.7", False, ("calls", "tools"), ())).decode()
    head, name, data, *_ = told.split("\n")
    assert (head, name) == ("event: news", "id: f.7")
    assert json.loads(data.removeprefix("data: ")) == {"topics": ["calls", "tools"], "reload": False, "calls": 0}


async def test_it_tells_of_calls_and_ends_when_it_is_told_to():
    async with fail_after(20), shown(*office()) as found:
        views, streams = views_of(found.runtime, found.feed), Streams()
        async with aclosing(news_stream(views, streams, "")) as stream:
            assert await anext(stream) == RETRY
            assert b"event: news" in await anext(stream)
            many_calls(found.feed, 3)
            assert b'"calls"' in await anext(stream)
            assert len(streams) == 1
            streams.close()
            rest = [part async for part in stream]
            assert len(rest) <= 1
        assert len(streams) == 0


async def test_there_is_not_room_for_any_number_of_them():
    async with shown(*office()) as found:
        views, streams = views_of(found.runtime, found.feed), Streams()
        many = [news_stream(views, streams, "") for _ in range(MOST_OF_ONE + 1)]
        for each in many[:-1]:
            await anext(each)
        with pytest.raises(Rejected):
            await anext(many[-1])
        for each in many:
            await each.aclose()


async def test_what_was_taken_to_see_whether_there_is_room_is_not_lost():
    async def parts() -> AsyncGenerator[bytes]:
        yield b"b"

    assert [part async for part in going_on(b"a", parts())] == [b"a", b"b"]
