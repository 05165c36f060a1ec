"""Who is told what of the servers' side, and who is not."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config.diff import ConfigDiff
from bascule.core.json_types import JsonObject
from bascule.core.sensitivity import Lane
from bascule.runtime.servers.notifications import LONGEST, News
from bascule.runtime.session import AgentSession
from bascule.upstream.key import SHARED, LinkKey
from support.links import ALICE, BOB
from support.live import Era, Living
from support.runtime import at_work, obeying, running
from support.waiting import until

WORK = LinkKey("work", Lane.OPEN, ALICE)


class Told:
    """Somebody who listens, and what they were told."""

    def __init__(self, asked: str = "") -> None:
        self.asked = asked
        self.lists: list[str] = []
        self.resources: list[tuple[str, str]] = []
        self.remarks: list[JsonObject] = []
        self.finishes: list[tuple[str, str]] = []
        self.over = False

    def changed(self, kind: str) -> None:
        self.lists.append(kind)

    def updated(self, uri: str, subscribed: str) -> None:
        self.resources.append((uri, subscribed))

    def remarked(self, params: JsonObject) -> None:
        self.remarks.append(params)

    def finished(self, server: str, theirs: str) -> bool:
        self.finishes.append((server, theirs))
        return theirs == self.asked

    def ended(self) -> None:
        self.over = True


class Listening:
    """An ear."""

    def __init__(self, level: str, *servers: str) -> None:
        self.level = level
        self.servers = servers
        self.heard: list[JsonObject] = []

    def at(self, server: str) -> None:
        self.servers += (server,)

    def is_at(self, server: str) -> bool:
        return server in self.servers

    def hear(self, server: str, params: JsonObject) -> None:
        assert server == "work"
        self.heard.append(params)


@asynccontextmanager
async def listened(living: Living, era: Era = "new", **config: Any) -> AsyncGenerator[tuple[AgentSession, Told]]:
    async with at_work(living.config(era, **config)) as session:
        told = Told()
        session.listen(told)
        await session.tools()
        yield session, told


def news_of(session: AgentSession) -> News:
    return session._roster.news


async def settled(session: AgentSession) -> None:
    """Wait until all lists were looked at that may have changed."""
    circles = news_of(session)._circles
    await until(lambda: all(circle.due is None for circle in circles.values()))


# Lists


@pytest.mark.parametrize("era", ["old", "new"])
async def test_what_is_listed_for_the_first_time_is_no_change(era: Era):
    async with listened(Living("act"), era) as (session, told):
        await session.tools()
        await session.resources()
        await settled(session)
        assert not told.lists


@pytest.mark.parametrize("era", ["old", "new"])
async def test_another_list_is_told_once(era: Era):
    living = Living("act")
    async with listened(living, era) as (session, told):
        await living.become("act", "look")
        await until(lambda: told.lists == ["tools"])
        await settled(session)
        assert told.lists == ["tools"]


async def test_that_a_list_has_changed_which_has_not_is_told_to_nobody():
    living = Living("act")
    async with listened(living) as (session, told):
        lists = living.lists
        await living.announce()
        await until(lambda: living.lists > lists)
        await settled(session)
        assert not told.lists


async def test_a_hundred_thousand_changes_are_told_as_a_few():
    async with listened(Living("act")) as (session, told):
        link = session._roster.links.find(WORK)
        assert link is not None
        session._roster.listings._capabilities[ALICE, "work"] = {"tools": {}, "resources": {}}
        await settled(session)
        told.lists.clear()
        for _ in range(100_000):
            session._roster.refreshing.on_change(link, "resources")
        await until(lambda: bool(told.lists))
        await settled(session)
        assert told.lists == ["resources"]


async def test_an_edit_of_the_config_is_told():
    living = Living("act", "look")
    async with listened(living) as (session, told):
        roster = session._roster
        config = roster.servers["work"]
        ending = roster.adopt({"work": replace(config, allow=("act",))}, ConfigDiff(relisted=("work",)))
        await asyncio.gather(*ending.listings)
        await until(lambda: "tools" in told.lists)
        assert [spec.name for spec in await session.tools()] == ["work_act"]


async def test_who_left_is_told_nothing():
    living = Living("act")
    async with listened(living) as (session, told):
        other = Told()
        session.listen(other)
        session.leave(told)
        await living.become("look")
        await until(lambda: other.lists == ["tools"])
        assert not told.lists
        session.leave(other)
        session.leave(other)
        assert not news_of(session)._circles


async def test_what_changes_for_one_is_told_to_no_other(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        heard = {who: Told() for who in (ALICE, BOB)}
        for who, told in heard.items():
            session = runtime.session(who.user_id, who.session_id)
            await session.tools()
            session.listen(told)
        news = news_of(runtime.session("alice", "s-1"))
        listings = runtime.session("alice", "s-1")._roster.listings
        listings._capabilities[ALICE, "work"] = listings._capabilities[BOB, "work"] = {"resources": {}}
        news.told(WORK, "resources")
        await until(lambda: heard[ALICE].lists == ["resources"])
        await settled(runtime.session("bob", BOB.session_id))
        assert not [kind for kind in heard[BOB].lists if news._moved[BOB, "work", "resources"]]


async def test_those_who_share_a_server_are_all_told():
    living = Living("act")
    async with running(living.config(lifetime="shared", stateless=True)) as runtime:
        heard = [Told(), Told()]
        for who, told in zip((ALICE, BOB), heard, strict=True):
            session = runtime.session(who.user_id, who.session_id)
            await session.tools()
            session.listen(told)
        await living.become("look")
        await until(lambda: [told.lists for told in heard] == [["tools"], ["tools"]])


async def test_the_end_of_an_agent_session_is_told():
    async with listened(Living("act")) as (session, told):
        news_of(session).moved(BOB, ended=True)
        assert not told.over
        news_of(session).moved(ALICE, ended=False)
        assert not told.over
        news_of(session).moved(ALICE, ended=True)
        assert told.over


async def test_the_end_of_the_runtime_is_told():
    async with listened(Living("act")) as (_, told):
        pass
    assert told.over


# Remarks


@asynccontextmanager
async def said(*ears: Listening) -> AsyncGenerator[tuple[News, Told]]:
    """Alice's listener, and ears of requests of hers that are under way."""
    async with listened(Living("act")) as (session, told):
        news = news_of(session)
        around = [news.attended(ALICE, ear) for ear in ears]
        with around[0] if around else nullcontext(), around[1] if around[1:] else nullcontext():
            yield news, told


def remark(level: str = "info", data: Any = "x", **params: Any) -> JsonObject:
    return {"level": level, "data": data, **params}


async def test_what_is_said_in_the_course_of_a_request_is_heard_by_who_made_it_and_by_nobody_else():
    ear, other = Listening("info"), Listening("debug", "work")
    async with said(other) as (news, told):
        news.remarked(WORK, remark("error", logger="db"), ear)
        news.remarked(WORK, remark("debug"), ear)
    assert ear.heard == [{"level": "error", "logger": "work.db", "data": "x"}]
    assert not other.heard
    assert not told.remarks


async def test_where_that_is_not_known_those_hear_it_whose_requests_are_at_that_server():
    here, elsewhere = Listening("info", "work"), Listening("info", "other")
    async with said(here, elsewhere) as (news, told):
        news.remarked(WORK, remark(), None)
        news.remarked(WORK, remark("debug"), None)
    assert here.heard == [{"level": "info", "logger": "work", "data": "x"}]
    assert not elsewhere.heard
    assert not told.remarks


async def test_outside_of_any_request_the_listeners_hear_it():
    async with said(Listening("info", "other")) as (news, told):
        news.remarked(WORK, remark(), None)
        news.remarked(LinkKey("work", Lane.OPEN, BOB), remark(), None)
    assert len(told.remarks) == 1


async def test_of_a_server_that_is_shared_nobody_hears_what_may_be_somebody_elses():
    ear = Listening("debug", "work")
    async with said(ear) as (news, told):
        news.remarked(LinkKey("work", Lane.OPEN, SHARED), remark(), None)
        assert not ear.heard
        assert not told.remarks
        news.remarked(LinkKey("work", Lane.OPEN, SHARED), remark(), ear)
    assert len(ear.heard) == 1


async def test_secrets_do_not_pass_and_nothing_is_longer_than_need_be():
    async with listened(Living("act")) as (session, told):
        session._roster.masks["work"].learn("s3cret-s3cret")
        news = news_of(session)
        news.remarked(WORK, remark(data={"s3cret-s3cret": ["my s3cret-s3cret"]}, logger="s3cret-s3cret"), None)
        news.remarked(WORK, remark("loud", "x" * LONGEST), None)
        news.remarked(WORK, remark(data=["y" * LONGEST], more="z" * LONGEST), None)
    assert "s3cret" not in str(told.remarks)
    assert told.remarks[1]["level"] == "info"
    assert all(len(str(each)) < LONGEST / 2 for each in told.remarks)
    assert all(each.keys() == {"level", "logger", "data"} for each in told.remarks)


async def test_the_most_talkative_that_anybody_wants_is_asked_of_servers():
    async with listened(Living("act")) as (session, told):
        news = news_of(session)
        assert not news.level(WORK)
        told.asked = "error"
        assert news.level(WORK) == "error"
        await news.tune(ALICE, "info")
        await news.tune(ALICE, "warning")
        assert news.level(WORK) == "info"
        assert not news.level(LinkKey("work", Lane.OPEN, BOB))
        assert news.level(LinkKey("work", Lane.OPEN, SHARED)) == "info"


# Where a person has finished


async def test_that_a_person_has_finished_reaches_listeners_of_that_principal_alone():
    async with at_work(Living("act").config("old")) as session:
        news, mine, other, bobs = news_of(session), Told("e-1"), Told(), Told("e-1")
        news.listen(ALICE, mine)
        news.listen(ALICE, other)
        news.listen(BOB, bobs)
        assert news.finished(WORK, "e-1")
        assert not news.finished(WORK, "e-2")
        assert not news.finished(LinkKey("work", Lane.OPEN, SHARED), "e-1")
        assert mine.finishes == other.finishes == [("work", "e-1"), ("work", "e-2")]
        assert not bobs.finishes
