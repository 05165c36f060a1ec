"""Views and actions of the dashboard over all workers of a cluster, on the pages of any worker."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import TypeVar

from msgspec.json import Decoder

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.cluster.merge import (
    drift_of,
    found_of,
    overview_of,
    server_detail_of,
    session_detail_of,
    sessions_of,
    timeline_of,
    tools_of,
)
from bascule.dashboard.cluster.peers import Others, Question
from bascule.dashboard.views.interface import Deeds, Views
from bascule.dashboard.views.shapes import (
    LOG_LINES,
    MOST_CALLS,
    AskView,
    CallDetail,
    Deed,
    Drift,
    Found,
    News,
    Overview,
    ServerDetail,
    SessionDetail,
    SessionRow,
    Timeline,
    ToolRow,
    Topic,
    WhatIf,
)
from bascule.gateway.cluster.peers import Silent
from bascule.store.owners import Member

GLANCE = 1.0
"""Seconds between two looks at who is there, and before one that was silent is asked for news again."""

Told = TypeVar("Told")

OVERVIEW: Decoder[Overview] = Decoder(Overview)
SESSIONS: Decoder[tuple[SessionRow, ...]] = Decoder(tuple[SessionRow, ...])
SESSION: Decoder[SessionDetail | None] = Decoder(SessionDetail | None)
WHAT_IF: Decoder[WhatIf | None] = Decoder(WhatIf | None)
TIMELINE: Decoder[Timeline] = Decoder(Timeline)
CALL: Decoder[CallDetail | None] = Decoder(CallDetail | None)
TOOLS: Decoder[tuple[ToolRow, ...]] = Decoder(tuple[ToolRow, ...])
SERVER: Decoder[ServerDetail | None] = Decoder(ServerDetail | None)
DRIFT: Decoder[tuple[Drift, ...]] = Decoder(tuple[Drift, ...])
ASKS: Decoder[tuple[AskView, ...]] = Decoder(tuple[AskView, ...])
FOUND: Decoder[Found] = Decoder(Found)
NEWS: Decoder[News] = Decoder(News)


class AllViews:
    """Asks the others what it is asked, beside what it sees itself."""

    def __init__(self, own: Views, others: Others) -> None:
        self._own = own
        self._others = others

    async def _told(self, own: Told, question: Question, kind: Decoder[Told]) -> list[Told]:
        """Ours first."""
        return [own, *(told for _, told in await self._others.ask(question, kind))]

    async def overview(self) -> Overview:
        answers = await self._others.ask(Question("overview"), OVERVIEW)
        for member, told in answers:
            self._others.name(member, told.worker)
        return overview_of([await self._own.overview(), *(told for _, told in answers)], self._others.said())

    async def sessions(self) -> tuple[SessionRow, ...]:
        told = await self._told(await self._own.sessions(), Question("sessions"), SESSIONS)
        return sessions_of(row for rows in told for row in rows)

    async def session(self, session_id: str) -> SessionDetail | None:
        own = await self._own.session(session_id)
        told = there(await self._told(own, Question("session", session_id=session_id), SESSION))
        return session_detail_of(told) if told else None

    async def what_if(self, session_id: str, level: DataSensitivity) -> WhatIf | None:
        question = Question("what_if", session_id=session_id, level=level.value)
        told = there(await self._told(await self._own.what_if(session_id, level), question, WHAT_IF))
        return max(told, key=lambda each: (DataSensitivity[each.now.upper()], len(each.tools)), default=None)

    async def timeline(self, *, session_id: str = "", before: str = "", most: int = MOST_CALLS) -> Timeline:
        own = await self._own.timeline(session_id=session_id, before=before, most=most)
        question = Question("timeline", session_id=session_id, before=before, most=most)
        return timeline_of(await self._told(own, question, TIMELINE), most)

    async def call(self, id_: str) -> CallDetail | None:
        own = await self._own.call(id_)
        if own is not None:
            return own
        told = there(await self._told(None, Question("call", name=id_), CALL))
        return told[0] if told else None

    async def tools(self) -> tuple[ToolRow, ...]:
        told = await self._told(await self._own.tools(), Question("tools"), TOOLS)
        return tools_of(row for rows in told for row in rows)

    async def server(self, name: str) -> ServerDetail | None:
        own = await self._own.server(name)
        told = there(await self._told(own, Question("server", name=name), SERVER))
        return server_detail_of(told, LOG_LINES) if told else None

    async def drift(self) -> tuple[Drift, ...]:
        told = await self._told(await self._own.drift(), Question("drift"), DRIFT)
        return drift_of(row for rows in told for row in rows)

    async def asks(self) -> tuple[AskView, ...]:
        told = await self._told(await self._own.asks(), Question("asks"), ASKS)
        return tuple(sorted((row for rows in told for row in rows), key=lambda row: row.since))

    async def search(self, query: str) -> Found:
        return found_of(await self._told(await self._own.search(query), Question("search", name=query), FOUND))

    async def news(self, last: str = "") -> AsyncGenerator[News]:
        heard = Heard()
        tasks = {
            asyncio.create_task(self._hear_own(last, heard)),
            asyncio.create_task(self._hear_others(heard)),
        }
        try:
            while True:
                waking = asyncio.create_task(heard.woken.wait())
                done, _ = await asyncio.wait({waking, *tasks}, return_when=asyncio.FIRST_COMPLETED)
                waking.cancel()
                for task in done & tasks:
                    # Neither ends by itself, so one of them has failed.
                    task.result()
                yield heard.take()
        finally:
            await _ended(tasks)

    async def _hear_own(self, last: str, heard: "Heard") -> None:
        async with aclosing(self._own.news(last)) as told:
            async for news in told:
                heard.hear(news)

    async def _hear_others(self, heard: "Heard") -> None:
        """From each that is there, for as long as it is."""
        listening: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                there = {member.id: member for member in self._others.members()}
                for id_ in [id_ for id_ in listening if id_ not in there]:
                    await _ended({listening.pop(id_)})
                    heard.tell("workers", reload=True)
                for id_, member in there.items():
                    if id_ not in listening:
                        listening[id_] = asyncio.create_task(self._hear_one(member, heard))
                        heard.tell("workers")
                await asyncio.sleep(GLANCE)
        finally:
            await _ended(listening.values())

    async def _hear_one(self, member: Member, heard: "Heard") -> None:
        last, silent = "", False
        while True:
            try:
                news = await self._others.listen(member, last, NEWS)
            except Silent:
                if not silent:
                    heard.tell("workers", reload=True)
                last, silent = "", True
                await asyncio.sleep(GLANCE)
                continue
            heard.tell(*news.topics, reload=silent or news.reload)
            last, silent = news.id, False


class Heard:
    """What was heard from all of them, until it is told on."""

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self._id = ""
        self._topics: dict[Topic, None] = {}
        self._reload = False

    def hear(self, news: News) -> None:
        """From ourselves: also that there is nothing new."""
        self._id = news.id
        self.tell(*news.topics, reload=news.reload)
        self.woken.set()

    def tell(self, *topics: Topic, reload: bool = False) -> None:
        self._topics |= dict.fromkeys(topics)
        self._reload = self._reload or reload
        if topics or reload:
            self.woken.set()

    def take(self) -> News:
        news = News(self._id, self._reload, tuple(self._topics), ())
        self.woken.clear()
        self._topics, self._reload = {}, False
        return news


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    ending = [*tasks]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


def there(told: Iterable[Told | None]) -> list[Told]:
    return [each for each in told if each is not None]


DEED: Decoder[Deed] = Decoder(Deed)
NOTHING: Decoder[None] = Decoder(None)

DOING = 10.0
"""Seconds for another worker to do it. A raise waits for all runtimes; one that is dead is waited for, too."""


class AllDeeds:
    """Tries an operator's action on this worker, then on each of the others. A worker without the object of an action
    refuses it, and no worker does a part of it."""

    def __init__(self, own: Deeds, others: Others) -> None:
        self._own = own
        self._others = others

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        own = await self._own.approve(server, digests, by=by)
        deed = await self._elsewhere(own, Question("approve", name=server, digests=dict(digests), by=by))
        if deed.ok:
            # They would find out by themselves, but not before the page is looked at again.
            await self._others.ask(Question("look_again"), NOTHING)
        return deed

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        own = await self._own.answer(ask_id, agree=agree, by=by)
        return await self._elsewhere(own, Question("answer", name=ask_id, agree=agree, by=by))

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed:
        own = await self._own.raise_session(session_id, level, by=by, reason=reason)
        asked = Question("raise", session_id=session_id, level=level.value, by=by, reason=reason)
        return await self._elsewhere(own, asked)

    async def _elsewhere(self, own: Deed, question: Question) -> Deed:
        if own.ok:
            return own
        for member in self._others.members():
            try:
                deed = await self._others.ask_one(member, question, DEED, DOING)
            except Silent:
                continue
            if deed.ok:
                return deed
        return own
