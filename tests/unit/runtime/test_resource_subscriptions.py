"""Subscriptions of one agent session, at a server that says what it was asked for."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule.core.call import Inquiry
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.core.tool import ASKING
from bascule.runtime import resource_subscriptions
from bascule.runtime.resource_subscriptions import Subscriptions, _upwards
from bascule.runtime.servers.notifications import Listener
from bascule.runtime.session import AgentSession
from support.hearing import URI, Era, telling
from support.runtime import QUICKLY, Events, at_work, running, twinned
from support.servers import pids, received
from support.waiting import until

TWO = "notes://two"


class Told:
    asked = ""

    def __init__(self) -> None:
        self.resources: list[str] = []

    def changed(self, kind: str) -> None: ...

    def updated(self, uri: str, subscribed: str) -> None:
        assert uri.startswith(subscribed)
        self.resources.append(uri)

    def remarked(self, params: Any) -> None: ...

    def finished(self, server: str, theirs: str) -> bool:
        raise AssertionError

    def ended(self) -> None: ...


@asynccontextmanager
async def subscribing(log: Path, era: Era = "old", **config: Any) -> AsyncGenerator[AgentSession]:
    async with telling("stdio", era, log, **config) as server, at_work(server, within=60) as session:
        yield session


def held(session: AgentSession) -> Subscriptions:
    assert session._subscriptions is not None
    return session._subscriptions


def noted(log: Path, what: str) -> list[Any]:
    return [message[what] for message in received(log) if what in message]


async def touch(session: AgentSession, uri: str = URI) -> None:
    assert (await session.call("work_touch", {"uri": uri})).ok


@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_resource_is_asked_for_once_however_many_want_it(tmp_path: Path, era: Era):
    one, two = Told(), Told()
    async with subscribing(tmp_path / "log", era) as session:
        for listener in (one, two):
            assert await session.subscribe(URI, listener) is None
        await touch(session)
        await until(lambda: one.resources == two.resources == [URI])
        session.unsubscribe(URI, one)
        session.unsubscribe(URI, one)
        await touch(session)
        await until(lambda: two.resources == [URI] * 2)
        assert one.resources == [URI]
        if era == "old":
            assert (noted(tmp_path / "log", "subscribe"), noted(tmp_path / "log", "unsubscribe")) == ([URI], [])


@pytest.mark.parametrize("era", ["old", "new"])
async def test_what_lies_below_a_resource_is_a_part_of_it(tmp_path: Path, era: Era):
    told = Told()
    async with subscribing(tmp_path / "log", "old") as session:
        await session.subscribe("notes://dir", told)
        for uri in ("notes://dirt", "notes://dir/a/b", "notes://dir"):
            await touch(session, uri)
        await until(lambda: len(told.resources) == 2)
    assert told.resources == ["notes://dir/a/b", "notes://dir"]


def test_how_far_up_a_change_may_reach():
    assert _upwards("a://b/c") == ["a://b/c", "a://b/", "a://b", "a://", "a:/", "a:"]
    assert len(_upwards("/" * 10_000)) < 100


async def test_why_there_is_no_subscription_is_told_and_nothing_is_kept(tmp_path: Path):
    async with subscribing(tmp_path / "log") as session:
        failure = await session.subscribe("nowhere://x", Told())
        assert failure is not None
        assert failure.code == "BSC-203"
        assert not held(session)._held


async def test_a_server_that_is_linked_to_only_for_a_call_tells_of_nothing_later(tmp_path: Path):
    async with subscribing(tmp_path / "log", lifetime="call") as session:
        failure = await session.subscribe(URI, Told())
        assert failure is not None
        assert failure.code == UsageError.code
        assert not noted(tmp_path / "log", "subscribe")


async def test_an_agent_session_has_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resource_subscriptions, "MOST", 1)
    async with subscribing(tmp_path / "log") as session:
        assert await session.subscribe(URI, Told()) is None
        failure = await session.subscribe(TWO, Told())
        assert failure is not None
        assert failure.kind is FailureKind.DENIED


async def test_each_is_recorded_like_any_request(tmp_path: Path):
    events = Events()
    async with (
        telling("stdio", "old", tmp_path / "log") as server,
        at_work(server, events=events, within=60) as session,
    ):
        told = Told()
        await session.subscribe(URI, told)
        session.unsubscribe(URI, told)
        await until(lambda: bool(noted(tmp_path / "log", "unsubscribe")))
        methods = ["resources/subscribe", "resources/unsubscribe"]
        await until(lambda: [each.method for each in events.requests if each.subject == URI] == methods)


async def test_who_gives_up_while_the_server_thinks_leaves_nothing(tmp_path: Path):
    async with subscribing(tmp_path / "log") as session:
        await session.resources()
        asking = asyncio.ensure_future(session.subscribe(URI, Told()))
        for _ in range(3):
            await asyncio.sleep(0)
        assert held(session)._held
        asking.cancel()
        await asyncio.wait((asking,))
        assert not held(session)._held


@pytest.mark.parametrize("era", ["old", "new"])
async def test_after_the_death_of_its_server_it_is_asked_for_again(
    tmp_path: Path, era: Era, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resource_subscriptions, "FIRST_WAIT", 0.05)
    told, log = Told(), tmp_path / "log"
    async with subscribing(log, era, restart=QUICKLY) as session:
        await session.subscribe(URI, told)
        for count in (1, 2):
            os.kill(pids(log)[-1], signal.SIGKILL)
            await until(lambda count=count: len(told.resources) == count, 40)
        await touch(session)
        await until(lambda: len(told.resources) == 3)


async def test_one_that_cannot_be_had_again_is_over(tmp_path: Path):
    told, log = Told(), tmp_path / "log"
    async with subscribing(log, restart=QUICKLY) as session:
        await session.subscribe(URI, told)
        session._standing.ratchet.ended = True
        session._standing.ratchet.epoch += 1
        held(session).moved()
        await until(lambda: not held(session)._held)
    assert noted(log, "subscribe") == [URI]
    assert not told.resources


async def test_on_a_link_that_is_shared_others_keep_theirs(tmp_path: Path):
    log = tmp_path / "log"
    async with (
        telling("stdio", "old", log, lifetime="shared", stateless=True) as server,
        running(server, within=60) as runtime,
    ):
        sessions = [runtime.session(who, "s-1") for who in ("alice", "bob")]
        heard = [Told(), Told()]
        for session, told in zip(sessions, heard, strict=True):
            await session.subscribe(URI, told)
        await touch(sessions[0])
        await until(lambda: all(told.resources == [URI] for told in heard))
        sessions[0].unsubscribe(URI, heard[0])
        await touch(sessions[0])
        await until(lambda: heard[1].resources == [URI] * 2)
        assert not noted(log, "unsubscribe")
        sessions[1].unsubscribe(URI, heard[1])
        await until(lambda: noted(log, "unsubscribe") == [URI])
    assert heard[0].resources == [URI]


def test_whoever_listens_can_subscribe():
    listener: Listener = Told()
    assert not listener.asked


async def test_the_rules_look_at_what_reading_and_what_following_it_may_do(tmp_path: Path):
    word = {"resources/subscribe": frozenset({Permission.WRITE})}
    async with subscribing(tmp_path / "log", permissions=word) as session:
        await session.resources()
        matter = await session._shelf._find_subscribed(session._standing, Inquiry(URI, {}))
        assert matter.spec.permissions == ASKING | {Permission.WRITE}


async def test_in_a_private_session_a_server_adds_nothing_to_the_address_that_was_subscribed_to(tmp_path: Path):
    page, told = "https://pages.test/dir", Told()
    async with (
        telling("stdio", "old", tmp_path / "log") as server,
        telling("stdio", "old", tmp_path / "twin") as twin,
        at_work(twinned(server, twin), within=60) as session,
    ):
        assert (await session.call("work_learn", {"kind": "resources", "name": page})).ok
        assert await session.subscribe(page, told) is None
        await touch(session, f"{page}/a")
        await until(lambda: told.resources == [f"{page}/a"])
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        # Once for the move to the twin.
        await until(lambda: told.resources[1:] == [page])
        await touch(session, f"{page}/salary-90000")
        await until(lambda: len(told.resources) == 3)
    assert told.resources[2] == page
