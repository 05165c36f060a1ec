"""Dashboard feed and its watchers."""

import asyncio
from typing import Any
from weakref import ref

import pytest

from bascule.core.events import (
    CatalogChanged,
    ConfigApplied,
    HostAsked,
    LevelFollowed,
    LinkChanged,
    PersonAsked,
    ToolInvoked,
)
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolSpec
from bascule.records.feed import feed as module
from bascule.records.feed.feed import Feed, Watchers
from support.links import ALICE
from support.waiting import fail_after, until

DONE = ToolResult({"content": []}, "work", "act", Lane.OPEN, {})


def invoked(name: str = "work_act", server: str = "work", who: Principal = ALICE, **more: Any) -> ToolInvoked:
    arguments = more.pop("arguments", {})
    return ToolInvoked(name, server, who, Lane.OPEN, more.pop("outcome", DONE), arguments, {}, 7.0, **more)


def told(*events: object, most: int = 100) -> Feed:
    feed = Feed(lambda: 1.0, most)
    for event in events:
        feed.note(event)
    return feed


async def test_calls_are_kept_newest_first_and_the_oldest_go():
    feed = told(*[invoked()] * 5, most=3)
    assert [note.seq for note in feed.recent()] == [5, 4, 3]
    assert (feed.calls, feed.kept, feed.call(4) is not None, feed.call(1)) == (5, 3, True, None)


async def test_what_was_missed_is_told_unless_it_is_gone_or_too_much():
    feed = told(*[invoked()] * 5, most=3)
    assert [note.seq for note in feed.since_seq(3, 10) or ()] == [4, 5]
    assert feed.since_seq(5, 10) == []
    assert feed.since_seq(0, 10) is None, "some are gone"
    assert feed.since_seq(2, 2) is None, "too many"
    assert [note.seq for note in told(invoked()).since_seq(0, 10) or ()] == [1]


async def test_nothing_is_taken_in_before_somebody_looks_or_many_wait(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_FRESH", 3)
    monkeypatch.setattr(module, "SOON", 600)
    feed = told(invoked(), invoked())
    assert feed.calls == 0
    feed.note(invoked())
    assert feed.calls == 3


async def test_and_nothing_of_a_reply_is_held_for_long():
    class Reply(dict[str, Any]):
        """One of which it can be told whether it is still there."""

    raw = Reply(content=[])
    there = ref(raw)
    feed = told(invoked(outcome=ToolResult(raw, "work", "act", Lane.OPEN, {})))
    del raw
    assert there() is not None
    await until(lambda: there() is None)
    assert feed.calls == 1


async def test_agent_sessions_and_tools_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_SESSIONS", 2)
    monkeypatch.setattr(module, "MOST_TOOLS", 2)
    calls = [invoked(f"work_{number}", who=Principal("u", str(number))) for number in range(4)]
    feed = told(*calls)
    assert [principal.session_id for principal in feed.sessions()] == ["3", "2"]
    assert {name: tally.calls for (_, name), tally in feed.tools().items()} == {
        "work_0": 1,
        "work_1": 1,
        "(others)": 2,
    }


async def test_what_nobody_declares_has_an_alias():
    failure = ToolFailure(FailureKind.UNKNOWN_TOOL, "BSC-201", "there is no tool 'canary'")
    feed = told(
        invoked("canary", "", outcome=failure, rule="x"),
        invoked(arguments={"path": "string[1]", "canary": "string[2]"}),
    )
    schema = {"properties": {"path": {}}}
    feed.find_spec = lambda _, name: ToolSpec(name, ToolKey("work", "act"), "", input_schema=schema)
    known, unknown = feed.recent()
    assert "path" in known.details.arguments
    assert "canary" not in str([(note, note.details) for note in (known, unknown)])


async def test_each_event_moves_its_topic_and_others_nothing():
    feed = told(
        LinkChanged("work", Lane.OPEN, ALICE, "failed", "gone", 1.0, "BSC-402"),
        LevelFollowed(ALICE, DataSensitivity.SECRET, 1.0),
        PersonAsked("work_act", "work", ALICE, 9.0, 1.0),
        CatalogChanged("work", (), ("act",), (), 1.0),
        HostAsked("work", ALICE, "x.example", 1, "", 200, 0, 0, ended=True, at=1.0),
        "nothing of ours",
    )
    assert feed.seq == 5
    assert feed.topics(0) == ("servers", "sessions", "asks", "drift")
    assert feed.topics(4) == ("servers",)
    assert feed.servers.of("work").code == "BSC-402"
    feed.note(ConfigApplied((), ("work",), (), (), (), 2.0))
    assert feed.servers.of("work").code == ""
    assert [note.host for note in feed.hosts] == ["x.example"]


async def test_of_how_a_caller_names_what_is_not_known_only_an_alias_is_shown():
    feed = told()
    assert feed.shown_name("work_act", "work", "tools/call") == "work_act"
    assert feed.shown_name("my password", "", "tools/call").startswith("#")
    assert "secret" not in feed.shown_name("file:///secret", "work", "resources/read")


async def test_calls_are_chosen_and_counted_by_what_is_wanted_of_them():
    feed = told(*[invoked(), invoked(who=Principal("bob", "s-1"))] * 3)
    assert [note.seq for note in feed.recent(lambda note: note.principal == ALICE)] == [5, 3, 1]
    assert feed.count(lambda note: note.principal == ALICE) == 3


async def test_nothing_is_set_going_while_nobody_waits():
    watchers = Watchers(pause=0.0)
    watchers.stir()
    assert not watchers
    assert watchers._timer is None


async def test_all_who_wait_are_woken_together():
    watchers = Watchers(pause=0.0)
    waiting = [asyncio.create_task(watchers.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert watchers
    for _ in range(100):
        watchers.stir()
    async with fail_after(5):
        await asyncio.gather(*waiting)
    assert not watchers


async def test_one_who_leaves_leaves_no_timer_behind():
    watchers = Watchers(pause=60)
    waiting = asyncio.create_task(watchers.wait())
    await asyncio.sleep(0)
    watchers.stir()
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert watchers._timer is None
