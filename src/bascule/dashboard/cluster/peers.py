"""Dashboard queries between the workers of a cluster: sent to all peers at once with a timeout, and answered from a
worker's own views and actions. Peers that do not answer are named on the page."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Protocol, TypeVar

import msgspec
from msgspec.json import Decoder

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.views.interface import Deeds, Views
from bascule.dashboard.views.shapes import News
from bascule.gateway.cluster.peers import Silent
from bascule.store.owners import Member

PATIENCE = 2.0
"""Seconds for which a question for news waits for some. A worker that ends waits no longer for who asks."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One dashboard query from worker to worker. `what` is its kind; each kind uses the other fields that it needs."""

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


LIMIT = 2.0
"""Seconds for an answer."""

QUIET = 5.0
"""Seconds for which one that did not answer is asked no more by pages: else each part of each page would wait anew."""

SAID = 60.0
"""Seconds for which it is said that a worker has ended."""

MOST_GONE = 20

UNNAMED = "a worker"

Told = TypeVar("Told")


class Asked(Protocol):
    """Who can be asked, and how. `gateway.cluster.peers` does it."""

    def others(self) -> tuple[Member, ...]: ...

    async def ask(self, member: Member, question: bytes, limit: float) -> bytes: ...


class Others:
    """The other workers of the cluster, as one worker sees them."""

    def __init__(self, neighbours: Asked, clock: Callable[[], float] = time.monotonic) -> None:
        self._neighbours = neighbours
        self._clock = clock
        self._names: dict[str, str] = {}
        self._silent: dict[str, float] = {}
        self._gone: dict[str, tuple[str, float]] = {}

    def members(self) -> tuple[Member, ...]:
        """Those that are there. Who was and is no more is remembered for a while."""
        there = self._neighbours.others()
        ids, now = {each.id for each in there}, self._clock()
        for id_ in ids:
            self._names.setdefault(id_, UNNAMED)
        for id_ in [id_ for id_ in self._names if id_ not in ids]:
            self._gone[id_] = (self._names.pop(id_), now)
        self._silent = {id_: until for id_, until in self._silent.items() if id_ in ids}
        lately = [(id_, gone) for id_, gone in self._gone.items() if now - gone[1] < SAID]
        self._gone = dict(lately[-MOST_GONE:])
        return there

    def name(self, member: Member, name: str) -> None:
        """What people call it."""
        self._names[member.id] = name

    def said(self) -> str:
        """Whose part is not shown, in a sentence or two."""
        silent = [self._names.get(each.id, UNNAMED) for each in self.members() if each.id in self._silent]
        told = [f"{_named(silent)} not answer: what is served there is not shown."] if silent else []
        gone = [name for name, _ in self._gone.values()]
        if gone:
            told.append(f"Ended a moment ago: {', '.join(gone)}. What was served there is no longer shown.")
        return " ".join(told)

    async def ask(self, question: Question, kind: Decoder[Told]) -> list[tuple[Member, Told]]:
        """The answers of all who answer in time."""
        now = self._clock()
        asked = [each for each in self.members() if self._silent.get(each.id, 0.0) <= now]
        answers = await asyncio.gather(*(self._try(each, question, kind) for each in asked))
        return [(member, told[0]) for member, told in zip(asked, answers, strict=True) if told]

    async def ask_one(self, member: Member, question: Question, kind: Decoder[Told], limit: float = LIMIT) -> Told:
        """Raises `Silent`."""
        try:
            told = await self._neighbours.ask(member, msgspec.json.encode(question), limit)
            answer = kind.decode(told)
        except Silent:
            self._silent[member.id] = self._clock() + QUIET
            raise
        except msgspec.MsgspecError as error:
            self._silent[member.id] = self._clock() + QUIET
            raise Silent("its answer is not understood") from error
        self._silent.pop(member.id, None)
        return answer

    async def listen(self, member: Member, last: str, kind: Decoder[Told]) -> Told:
        """Its next news. Raises `Silent`."""
        return await self.ask_one(member, Question("news", name=last), kind, PATIENCE + LIMIT)

    async def _try(self, member: Member, question: Question, kind: Decoder[Told]) -> tuple[()] | tuple[Told]:
        try:
            return (await self.ask_one(member, question, kind),)
        except Silent:
            return ()


def _named(names: list[str]) -> str:
    first = f"{names[0][0].upper()}{names[0][1:]}"
    return f"{first} does" if len(names) == 1 else f"{', '.join((first, *names[1:]))} do"
