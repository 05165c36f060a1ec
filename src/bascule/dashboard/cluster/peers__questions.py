"""What one worker asks another for the sake of a dashboard, and how it is answered: by what it sees and does itself."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress

import msgspec

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.views.interface import Deeds
from bascule.dashboard.views.interface__views import Views
from bascule.dashboard.views.shapes import News

PATIENCE = 2.0
"""Seconds for which a question for news waits for some. A worker that ends waits no longer for who asks."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of them. Each has of the rest what it needs."""

    what: str
    name: str = ""
    """Of a server, a call, a call that waits; what is searched for; the last news."""
    session_id: str = ""
    level: int = 0
    before: str = ""
    most: int = 0
    digests: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    agree: bool = False
    by: str = ""
    reason: str = ""


class Answers:
    """All that one worker tells the others."""

    def __init__(self, views: Views, deeds: Deeds, look_again: Callable[[], Awaitable[None]]) -> None:
        self._ways: dict[str, Callable[[Question], Awaitable[object]]] = {
            "overview": lambda _: views.overview(),
            "sessions": lambda _: views.sessions(),
            "session": lambda asked: views.session(asked.session_id),
            "what_if": lambda asked: views.what_if(asked.session_id, DataSensitivity(asked.level)),
            "timeline": lambda asked: views.timeline(
                session_id=asked.session_id, before=asked.before, most=max(0, asked.most)
            ),
            "call": lambda asked: views.call(asked.name),
            "tools": lambda _: views.tools(),
            "server": lambda asked: views.server(asked.name),
            "drift": lambda _: views.drift(),
            "asks": lambda _: views.asks(),
            "search": lambda asked: views.search(asked.name),
            "news": lambda asked: _news(views, asked.name),
            "approve": lambda asked: deeds.approve(asked.name, asked.digests, by=asked.by),
            "answer": lambda asked: deeds.answer(asked.name, agree=asked.agree, by=asked.by),
            "raise": lambda asked: deeds.raise_session(
                asked.session_id, DataSensitivity(asked.level), by=asked.by, reason=asked.reason
            ),
            "look_again": lambda _: look_again(),
        }

    async def __call__(self, body: bytes) -> bytes:
        """Raises `ValueError` for what is no question."""
        asked = msgspec.json.decode(body, type=Question)
        way = self._ways.get(asked.what)
        if way is None:
            raise ValueError("this is not a question that is known here")
        return msgspec.json.encode(await way(asked))


async def _news(views: Views, last: str) -> News:
    """What has changed since; where nothing has, what does in the next moments."""
    async with aclosing(views.news(last)) as told:
        news = await anext(told)
        if last and not (news.topics or news.reload):
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    news = await anext(told)
        return news
