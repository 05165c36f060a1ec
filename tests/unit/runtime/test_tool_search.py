"""Finding tools on behalf of an agent session, and the pair."""

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.search.index import SearchIndex
from bascule.catalog.search.meta_tools import CALL, OURS, SEARCH
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind
from bascule.core.tool import ToolSpec
from bascule.runtime import tool_search
from support.live import Living
from support.runtime import Events, a_tool, at_work, bad, good, obeying, ratchet_of, running


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "3"])
async def test_a_limit_is_a_number_of_tools(limit: Any):
    async with at_work(Living("one").config()) as session:
        with pytest.raises(UsageError, match="whole number above 0"):
            await session.search("one", limit)


async def test_many_tools_are_indexed_once_and_in_a_thread(monkeypatch: pytest.MonkeyPatch):
    made: list[threading.Thread] = []

    class Noted(SearchIndex):
        def __init__(self, tools: Iterable[ToolSpec]) -> None:
            made.append(threading.current_thread())
            super().__init__(tools)

    monkeypatch.setattr(tool_search, "MANY", 2)
    monkeypatch.setattr("bascule.catalog.toolbox.SearchIndex", Noted)
    async with at_work(Living("one", "two", "three", ttl=3_600_000).config()) as session:
        for _ in range(2):
            assert [spec.name for spec in await session.search("two")] == ["work_two"]

    (thread,) = made
    assert thread is not threading.main_thread()


async def test_without_the_setting_the_names_are_like_any_other(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool(SEARCH), prefix="")) as session:
        assert [spec.name for spec in await session.offered()] == [SEARCH]
        assert good(await session.call(SEARCH, {"a": 1})).server == "work"
        bad(await session.call(CALL, {"name": SEARCH}), FailureKind.UNKNOWN_TOOL)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
async def test_a_search_takes_a_timeout_like_every_call(timeout: float):
    async with at_work(Living("one").config(), search_above=1) as session:
        wrong = bad(await session.call(SEARCH, {"words": "one"}, timeout=timeout), FailureKind.INVALID_ARGUMENTS)
        direct = bad(await session.call("work_one", timeout=timeout), FailureKind.INVALID_ARGUMENTS)
        through = bad(await session.call(CALL, {"name": "work_one"}, timeout=timeout), FailureKind.INVALID_ARGUMENTS)

    assert wrong.message == direct.message == through.message


async def test_a_search_that_waits_too_long_for_a_listing_is_a_timeout(events: Events):
    server = Living("one")
    server.free.clear()
    async with at_work(server.config(), events=events, search_above=1) as session:
        late = bad(await session.call(SEARCH, {"words": "one"}, timeout=0.05), FailureKind.TIMEOUT)
        server.free.set()
        good(await session.call(SEARCH, {"words": "one"}))

    assert "0.05 s" in late.message
    assert [event.outcome.ok for event in events.calls] == [False, True]


async def test_a_search_that_nobody_waits_for_any_more_is_recorded_as_aborted(events: Events):
    server = Living("one")
    server.free.clear()
    async with at_work(server.config(), events=events, search_above=1) as session:
        searched = asyncio.create_task(session.call(SEARCH, {"words": "one"}))
        await server.asked.wait()
        searched.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searched
        server.free.set()

    assert (events.call.tool, events.call.source) == (SEARCH, "native")
    assert bad(events.call.outcome, FailureKind.ABORTED).server == OURS


async def test_nothing_is_found_for_an_agent_session_that_was_ended(events: Events):
    async with at_work(Living("one", ttl=3_600_000).config(), events=events, search_above=1) as session:
        good(await session.call(SEARCH, {"words": "one"}))
        ratchet_of(session).ended = True
        ended = bad(await session.call(SEARCH, {"words": "one"}), FailureKind.DENIED)
        direct = bad(await session.call("work_one"), FailureKind.DENIED)

    assert (ended.message, ended.fix) == (direct.message, direct.fix)
    assert events.calls[1].rule == "session_goes_on"


async def test_sessions_that_see_the_same_share_an_index():
    async with running(Living("one").config(stateless=True, lifetime="shared"), search_above=1) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        await alice.search("one")
        await bob.tools()

        assert bob.toolbox.indexed
