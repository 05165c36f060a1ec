"""The catalog follows its servers: what is listed anew, when, and how often at most."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bascule.config import ServerConfig, Timeouts
from bascule.core.events import CatalogChanged, RefreshFailed
from bascule.core.outcome import FailureKind
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers import refresh as refreshing
from bascule.runtime.servers.refresh import Refreshing
from bascule.runtime.session import AgentSession
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.state import LinkState
from support.live import Era, Living, until
from support.runtime import Events, a_tool, bad, good, roster_of, running
from support.scenarios import listing, log_of, scripted
from support.servers import methods

ERAS: tuple[Era, ...] = ("old", "new")


class Scene:
    """A runtime with one server, and an agent session that has looked at its tools."""

    def __init__(self, runtime: Runtime) -> None:
        self.roster = roster_of(runtime)
        self.session = runtime.session("alice", "s-1")

    @property
    def refreshing(self) -> Refreshing:
        return self.roster.refreshing

    @property
    def link(self) -> Link:
        link = self.roster.links.find(LinkKey("work", self.session.lane, self.session.principal))
        assert link is not None
        return link

    def known(self) -> list[str]:
        """What is in the catalog, without asking anybody."""
        return [spec.key.tool for spec in self.session.toolbox.specs()]

    async def until_known(self, *tools: str) -> None:
        async def look() -> list[str]:
            return self.known()

        await until(look, lambda known: known == [*tools], f"{tools} in the catalog")

    async def until_followed(self, server: Living) -> None:
        """Have a change announced, and wait for all that comes of it."""
        server.asked.clear()
        await server.announce()
        await server.asked.wait()
        await self.until_quiet()

    async def until_quiet(self) -> None:
        async def look() -> int:
            return len(self.refreshing._pursuits)

        await until(look, lambda count: count == 0, "the end of all following")


@asynccontextmanager
async def scene(server: ServerConfig, events: Events | None = None) -> AsyncGenerator[Scene]:
    async with running(server, events=events) as runtime:
        made = Scene(runtime)
        await made.session.connect()
        yield made


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No listing runs out by itself, so that only what is told counts."""
    monkeypatch.setattr(refreshing, "SHORTEST_TTL", 3600.0)


@pytest.fixture
def fleeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every listing has run out as soon as it is there."""
    monkeypatch.setattr(refreshing, "SHORTEST_TTL", 0.0)


# What is told


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_server_tells_is_in_the_catalog_before_anybody_looks(lasting: None, era: Era, events: Events):
    server = Living("one", "two")
    async with scene(server.config(era), events) as work:
        version = work.roster.listings.version
        await server.become("two", "three")
        await work.until_known("two", "three")

        assert work.roster.listings.version > version
    told = [event for event in events if isinstance(event, CatalogChanged)][-1]
    assert (told.added, told.removed) == (("three",), ("one",))


async def test_a_notice_without_a_change_moves_no_version(lasting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        version, lists = work.roster.listings.version, server.lists
        await work.until_followed(server)

        assert (work.roster.listings.version, server.lists) == (version, lists + 1)


async def test_a_notice_that_comes_while_a_link_is_opened_waits_for_that():
    server = Living("one")
    server.free.clear()
    async with running(server.config("old")) as runtime:
        session = runtime.session("alice", "s-1")
        connecting = asyncio.create_task(session.connect())
        await server.asked.wait()
        await server.announce()
        server.tools["two"] = ""
        server.free.set()
        await connecting

        async def look() -> int:
            return len(session.toolbox.specs())

        await until(look, lambda count: count == 2)


@pytest.mark.parametrize("era", ERAS)
async def test_notices_during_a_listing_make_one_more_listing_and_no_more(lasting: None, era: Era):
    server = Living("one")
    async with scene(server.config(era)) as work:
        before = server.lists
        server.free.clear()
        server.asked.clear()
        await server.announce()
        await server.asked.wait()
        for number in range(500):
            await server.become(f"t{number}")
        server.free.set()
        await work.until_known("t499")
        await work.until_quiet()

        assert server.lists - before <= 3


@pytest.mark.long
async def test_a_flood_of_notices_makes_a_trickle_of_listings(lasting: None):
    """Pauses double, so four listings take seven tenths of a second, however fast the machine is."""
    server = Living("one")
    async with scene(server.config()) as work:
        before, began = server.lists, asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < began + 1.0:
            work.refreshing.on_change(work.link, "tools")
            await asyncio.sleep(0)

        assert 2 <= server.lists - before <= 5
        assert len(work.refreshing._pursuits) == 1


@pytest.mark.long
async def test_a_listing_that_differs_every_time_is_not_asked_for_without_a_pause(lasting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        before, began = server.lists, asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < began + 1.0:
            server.tools = {f"t{server.lists}": "new"}
            work.refreshing.on_change(work.link, "tools")
            await asyncio.sleep(0)

        assert 2 <= server.lists - before <= 5


async def test_offers_beside_tools_are_only_counted(lasting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        lists = server.lists
        for kind in ("resources", "prompts", "resources"):
            work.refreshing.on_change(work.link, kind)

        assert work.refreshing.moves(work.session.principal, "work") == 3
        assert (work.refreshing._pursuits, server.lists) == ({}, lists)


# What fails


@pytest.mark.parametrize("era", ERAS)
async def test_a_listing_that_fails_leaves_what_was_there_and_is_told_once(
    lasting: None, era: Era, events: Events, caplog: pytest.LogCaptureFixture
):
    server = Living("one")
    async with scene(server.config(era), events) as work:
        server.failing = "the shelf fell down"
        with caplog.at_level(logging.WARNING, "bascule.runtime"):
            for _ in range(2):
                await work.until_followed(server)
            report = work.session.servers()[0]

        assert work.known() == ["one"]
        assert good(await work.session.call("work_one")).text == "one: Does as told."
        assert report.state is LinkState.READY
        assert "the shelf fell down" in report.notes[-1]
        server.failing = ""
        await server.become("two")
        await work.until_known("two")
        assert work.session.servers()[0].notes == ()

    (told,) = [event for event in events if isinstance(event, RefreshFailed)]
    assert (told.server, told.principal, told.reason) == ("work", work.session.principal, "the shelf fell down")
    assert len(caplog.records) == 1


async def test_a_listing_that_holds_nothing_usable_is_a_failure_and_no_empty_list(tmp_path: Path, events: Events):
    pages = [listing(a_tool("act")), listing({"inputSchema": {}}, 7)]
    async with scene(scripted(tmp_path, {"tools/list": pages}), events) as work:
        work.refreshing.on_change(work.link, "tools")
        await work.until_quiet()

        assert work.known() == ["act"]
        assert "none of its tools can be used" in work.refreshing.trouble(work.session.principal, "work")


async def test_what_is_wrong_with_some_tools_is_told_anew(tmp_path: Path):
    pages = [listing(a_tool("act")), listing(a_tool("act"), 7), listing(a_tool("act"))]
    async with scene(scripted(tmp_path, {"tools/list": pages})) as work:
        states = [work.link.condition]
        for _ in range(2):
            work.refreshing.on_change(work.link, "tools")
            await work.until_quiet()
            states.append(work.link.condition)

    assert [str(condition.state) for condition in states] == ["ready", "degraded", "ready"]
    assert "1 of its tools cannot be used" in states[1].reason


async def test_a_server_that_never_lists_again_is_given_up_and_its_tools_are_kept(tmp_path: Path, events: Events):
    brief = Timeouts(connect=15, probe=10, list=0.2, call=10, close=1)
    pages = [listing(a_tool("act")), {}]
    async with scene(scripted(tmp_path, {"tools/list": pages}, timeouts=brief), events) as work:
        work.refreshing.on_change(work.link, "tools")
        await work.until_quiet()

        assert work.known() == ["act"]
        good(await work.session.call("work_act"))
    assert [event.reason for event in events if isinstance(event, RefreshFailed)] == [
        "listing the tools took longer than 0.2 s"
    ]


async def test_the_end_of_a_link_is_no_failure_to_list(events: Events):
    server = Living("one")
    async with scene(server.config(), events) as work:
        server.free.clear()
        server.asked.clear()
        await server.announce()
        await server.asked.wait()
        await work.session.close()
        await work.until_quiet()

    assert [event for event in events if isinstance(event, RefreshFailed)] == []


async def test_closing_the_runtime_ends_what_is_being_listed(lasting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        server.free.clear()
        server.asked.clear()
        await server.announce()
        await server.asked.wait()

    assert work.refreshing._pursuits == {}


# What has run out


async def looked(session: AgentSession) -> list[str]:
    return [spec.key.tool for spec in await session.tools()]


async def test_a_look_at_the_tools_lists_anew_what_has_run_out(fleeting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        server.tools = {"two": ""}

        assert work.known() == ["one"]
        assert await looked(work.session) == ["two"]


async def test_an_unknown_name_lists_anew_what_has_run_out(fleeting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        server.tools["two"] = "new"

        assert good(await work.session.call("work_two")).text == "two: new"


async def test_a_known_tool_is_called_without_a_look(fleeting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        await work.session.call("work_one")
        await work.until_quiet()
        lists = server.lists
        for _ in range(20):
            good(await work.session.call("work_one"))

        assert server.lists == lists


@pytest.mark.parametrize("ttl", [0, 1])
async def test_a_listing_that_holds_for_no_time_is_not_asked_for_at_every_look(
    monkeypatch: pytest.MonkeyPatch, ttl: int
):
    monkeypatch.setattr(refreshing, "SHORTEST_TTL", 600.0)
    server = Living("one", ttl=ttl)
    async with scene(server.config()) as work:
        for number in range(20):
            await work.session.tools()
            bad(await work.session.call(f"work_{number}"), FailureKind.UNKNOWN_TOOL)

        assert server.lists == 1


async def test_a_listing_of_the_old_era_does_not_run_out(fleeting: None, tmp_path: Path):
    server = Living("one")
    async with scene(server.config("old")) as work:
        for _ in range(3):
            await work.session.tools()

        assert server.lists == 1


async def test_all_who_look_at_once_share_one_listing(fleeting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        before = server.lists
        server.free.clear()
        server.asked.clear()
        looking = [asyncio.create_task(work.session.tools()) for _ in range(10)]
        await server.asked.wait()
        server.free.set()
        await asyncio.gather(*looking)

        assert server.lists == before + 1


async def test_a_look_that_fails_shows_what_was_there(fleeting: None):
    server = Living("one")
    async with scene(server.config()) as work:
        server.failing = "not now"

        assert await looked(work.session) == ["one"]


async def test_a_huge_time_to_live_is_no_overflow(tmp_path: Path):
    page = {"result": {"tools": [a_tool("act")], "ttlMs": 10**400}}
    async with scene(scripted(tmp_path, {"tools/list": [page]})) as work:
        assert await looked(work.session) == ["act"]
    assert methods(log_of(tmp_path)).count("tools/list") == 1
