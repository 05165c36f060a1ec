"""Server registry: listings and status per principal, and edits of the config."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from bascule.catalog.server_listing import ServerListing
from bascule.config import RuntimeConfig, ServerConfig, SseTransport, StreamableHttpTransport
from bascule.config.model.transport import NoTransport
from bascule.core.errors import ConfigError, ConnectFailed, Refused, StoreError
from bascule.core.events import CatalogChanged
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.listing_history import ListingMemory
from bascule.runtime.servers.registry import Ending, Roster, raise_for_required
from bascule.runtime.servers.status import ServerReport
from bascule.store.levels.interface import SessionRecord
from bascule.upstream.key import LinkKey
from bascule.upstream.state import LinkState
from support.children import children
from support.contract import answer_over_http
from support.fake_login import fake_login
from support.http_servers import raw_server
from support.links import ALICE, BOB, a_key
from support.runtime import Events, a_tool, obeying, roster_of, running, stand_in
from support.servers import pids
from support.sse_servers import working_peer
from support.waiting import fail_after

WORK = a_key("work")


@asynccontextmanager
async def a_roster(*servers: ServerConfig, events: Events | None = None) -> AsyncGenerator[Roster]:
    async with running(*servers, events=events) as runtime:
        yield roster_of(runtime)


class Slow(ListingMemory):
    """Keeps listings, once it is let."""

    def __init__(self, memory: ListingMemory) -> None:
        super().__init__(memory._store, memory._home, memory._clock)
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def note(self, lane: Lane, listing: ServerListing) -> CatalogChanged | None:
        self.asked.set()
        await self.go.wait()
        return await super().note(lane, listing)


class Full(ListingMemory):
    """Keeps listings on a disk that is full."""

    async def note(self, lane: Lane, listing: ServerListing) -> CatalogChanged | None:
        raise StoreError("the disk is full")


def many(folder: Path, count: int) -> str:
    """The name of a file with so many tools, as a stand-in takes it."""
    file = folder / "tools"
    file.write_text(json.dumps([a_tool(f"act{number}", description="x" * 200) for number in range(count)]))
    return f"@{file}"


# What is known


async def test_leasing_a_new_link_puts_its_tools_into_the_catalog(log: Path):
    async with a_roster(obeying(log)) as roster:
        assert roster.unsettled(ALICE) == ("work",)
        assert roster.listings.toolbox(ALICE).specs() == ()
        version = roster.listings.version

        link = await roster.lease(WORK)

        assert link.listed is None
        assert [spec.name for spec in roster.listings.toolbox(ALICE).specs()] == ["work_act"]
        assert roster.listings.version > version
        assert roster.unsettled(ALICE) == ()
        assert roster.has_listed(ALICE, "work")


async def test_what_one_principal_was_shown_says_nothing_of_another(log: Path):
    async with a_roster(obeying(log)) as roster:
        await roster.settle(ALICE, "work")

        assert roster.listings.toolbox(BOB).specs() == ()
        assert roster.unsettled(BOB) == ("work",)
        assert not roster.has_listed(BOB, "work")


async def test_principals_who_see_the_same_share_one_toolbox(log: Path):
    async with a_roster(obeying(log)) as roster:
        await asyncio.gather(*(roster.settle(who, "work") for who in (ALICE, BOB)))

        assert roster.listings.toolbox(ALICE) is roster.listings.toolbox(BOB)


async def test_a_listing_that_did_not_change_moves_no_version_and_is_told_once(log: Path, events: Events):
    async with a_roster(obeying(log), events=events) as roster:
        await roster.lease(WORK)
        version, toolbox = roster.listings.version, roster.listings.toolbox(ALICE)
        await roster.links.close([WORK])
        await roster.lease(WORK)

        assert len(pids(log)) == 2
        assert roster.listings.version == version
        assert roster.listings.toolbox(ALICE) is toolbox

    (told,) = [event for event in events if isinstance(event, CatalogChanged)]
    assert (told.server, told.added, told.changed, told.removed) == ("work", ("act",), (), ())


@pytest.mark.parametrize("tools", [1, 2000], ids=["small", "large"])
async def test_all_who_wait_for_a_new_link_find_its_tools_in_the_catalog(tmp_path: Path, log: Path, tools: int):
    async with a_roster(stand_in("work", "obeying", log, many(tmp_path, tools))) as roster:
        first, *rest = [asyncio.create_task(roster.lease(WORK)) for _ in range(3)]
        for waiting in asyncio.as_completed([first, *rest]):
            await waiting
            assert len(roster.listings.toolbox(ALICE).specs()) == tools

        assert len(pids(log)) == 1


async def test_one_who_stops_waiting_for_a_new_link_stops_no_other(log: Path, events: Events):
    async with a_roster(obeying(log), events=events) as roster:
        roster.listings.memory = slow = Slow(roster.listings.memory)
        impatient = asyncio.create_task(roster.lease(WORK))
        await slow.asked.wait()
        impatient.cancel()
        slow.go.set()
        await roster.lease(WORK)
        await roster.close()

    assert impatient.cancelled()
    assert [event.added for event in events if isinstance(event, CatalogChanged)] == [("act",)]


async def test_closing_waits_until_what_was_listed_is_kept(log: Path):
    async with a_roster(obeying(log)) as roster:
        roster.listings.memory = slow = Slow(roster.listings.memory)
        waiting = asyncio.create_task(roster.lease(WORK))
        await slow.asked.wait()
        closing = asyncio.create_task(roster.close())
        done, _ = await asyncio.wait((closing,), timeout=0.1)
        assert not done
        slow.go.set()
        await closing
        await waiting


async def test_a_listing_that_changed_replaces_the_one_before(tmp_path: Path, log: Path, events: Events):
    tools = tmp_path / "tools"
    tools.write_text(json.dumps([a_tool("act")]))
    async with a_roster(stand_in("work", "obeying", log, f"@{tools}"), events=events) as roster:
        await roster.lease(WORK)
        version = roster.listings.version
        await roster.links.close([WORK])
        tools.write_text(json.dumps([a_tool("rest")]))
        await roster.lease(WORK)

        assert [spec.name for spec in roster.listings.toolbox(ALICE).specs()] == ["work_rest"]
        assert roster.listings.version > version

    changes = [event for event in events if isinstance(event, CatalogChanged)]
    assert [(change.added, change.removed) for change in changes] == [(("act",), ()), (("rest",), ("act",))]


async def test_a_tool_the_operator_hides_is_catalogued_as_hidden(log: Path):
    async with a_roster(obeying(log, a_tool("act"), a_tool("rest"), allow=("a*",))) as roster:
        report = await roster.settle(ALICE, "work")

        assert [spec.name for spec in roster.listings.toolbox(ALICE).specs()] == ["work_act"]
        assert report.tools == 1


# How servers stand


async def test_a_server_that_was_never_tried_is_configured(log: Path):
    async with a_roster(obeying(log, required=False)) as roster:
        report = roster.report(ALICE, "work")

    assert report == ServerReport("work", "stdio", LinkState.CONFIGURED)


async def test_a_server_that_answers_is_ready(log: Path):
    async with a_roster(obeying(log)) as roster:
        report = await roster.settle(ALICE, "work")

    assert (report.state, report.reason, report.version, report.tools) == (LinkState.READY, "", "2026-07-28", 1)
    assert report.seconds > 0
    assert report.error is None


async def test_a_server_with_a_tool_that_cannot_be_read_is_degraded_and_says_which(log: Path):
    async with a_roster(obeying(log, a_tool("act"), {"inputSchema": {}})) as roster:
        report = await roster.settle(ALICE, "work")

    assert (report.state, report.tools, report.error) == (LinkState.DEGRADED, 1, None)
    assert "it has no name" in report.reason


async def test_a_server_that_fails_is_told_with_its_error_and_can_come_back(log: Path):
    log.mkdir()
    async with a_roster(obeying(log)) as roster:
        failed = await roster.settle(ALICE, "work")
        assert (failed.state, failed.tools) == (LinkState.FAILED, 0)
        assert failed.error is roster.error_of(ALICE, "work")
        assert roster.error_of(BOB, "work") is None
        assert roster.unsettled(ALICE) == ()
        assert not roster.has_listed(ALICE, "work")
        log.rmdir()

        again = await roster.settle(ALICE, "work")

        assert (again.state, again.error, roster.error_of(ALICE, "work")) == (LinkState.READY, None, None)


async def test_a_server_that_failed_after_it_had_listed_has_no_tools_to_show(log: Path):
    async with a_roster(obeying(log)) as roster:
        await roster.settle(ALICE, "work")
        await roster.links.close([WORK])
        log.unlink()
        log.mkdir()
        report = await roster.settle(ALICE, "work")

        assert (report.state, report.tools) == (LinkState.FAILED, 0)
        assert not roster.has_listed(ALICE, "work")


async def test_a_required_server_that_failed_is_among_those_to_be_tried():
    required = stand_in("work", "failing", 3, "no API key", required=True)
    runtime = Runtime(RuntimeConfig(servers={"work": required}), prove_required=False)
    async with fail_after(20), runtime:
        roster = roster_of(runtime)
        assert (await roster.settle(ALICE, "work")).required

        assert roster.unsettled(ALICE) == ("work",)


async def test_a_server_the_config_could_not_describe_says_why():
    reason = ConfigError("work: variable TOKEN is not set", fix="set it")
    server = ServerConfig(name="work", transport=NoTransport("stdio"), unavailable_reason=reason, notes=("odd",))
    async with a_roster(server) as roster:
        report = await roster.settle(ALICE, "work")

    assert (report.state, report.error, report.transport) == (LinkState.FAILED, reason, "stdio")
    assert report.notes == ("odd",)


async def test_a_server_reached_by_the_older_way_is_shown_as_what_is_spoken():
    async with working_peer() as peer:
        auto, named = StreamableHttpTransport(peer.url), SseTransport(peer.url)
        async with a_roster(ServerConfig("auto", auto), ServerConfig("named", named)) as roster:
            reports = [await roster.settle(ALICE, name) for name in ("auto", "named")]

    assert [(report.transport, report.state) for report in reports] == [("sse", LinkState.READY)] * 2


async def test_a_server_of_http_with_sse_is_never_asked_in_the_words_of_the_new_era():
    async with working_peer() as peer, a_roster(ServerConfig("old", SseTransport(peer.url))) as roster:
        await roster.settle(ALICE, "old")

    assert peer.messages[0]["method"] == "initialize"


async def test_a_listing_that_cannot_be_kept_fails_that_server(log: Path):
    async with a_roster(obeying(log)) as roster:
        roster.listings.memory = Full(roster.listings.memory._store, "", lambda: 0.0)
        report = await roster.settle(ALICE, "work")

    assert (report.state, report.reason) == (LinkState.FAILED, "the disk is full")


async def test_servers_at_one_host_are_asked_on_the_same_connection():
    async with fail_after(20), raw_server(answer_over_http) as server:
        configs = [
            ServerConfig(name, StreamableHttpTransport(server.url.replace("/mcp", f"/{name}"))) for name in ("a", "b")
        ]
        async with a_roster(*configs) as roster:
            for name in ("a", "b"):
                assert (await roster.settle(ALICE, name)).state is LinkState.READY
            assert {asked.path for asked in server.asked} == {"/a", "/b"}
            assert server.connections == 1


# Required servers


async def test_required_servers_are_proved_and_their_links_closed(tmp_path: Path):
    before = children()
    one, two = obeying(tmp_path / "one", name="one", required=True), obeying(tmp_path / "two", name="two")
    async with a_roster(one, two) as roster:
        assert children() == before
        assert len(pids(tmp_path / "one")) == 1
        assert not (tmp_path / "two").exists()
        assert roster.unsettled(ALICE) == ("one", "two")


async def test_a_required_server_that_waits_for_a_login_is_there():
    async with fail_after(20), fake_login() as fake:
        waiting = ServerConfig("notes", StreamableHttpTransport(fake.url), required=True)
        async with a_roster(waiting) as roster:
            assert (await roster.settle(ALICE, "notes")).state is LinkState.NEEDS_AUTH


async def test_a_required_server_that_refuses_what_was_configured_is_not():
    async with fail_after(20), fake_login() as fake:
        configured = StreamableHttpTransport(fake.url, {"Authorization": "Bearer wrong"})
        with pytest.raises(ConnectFailed, match="'notes' cannot be used"):
            async with a_roster(ServerConfig("notes", configured, required=True)):
                pass


def test_the_first_required_server_that_failed_is_raised_for():
    error = ConnectFailed("gone", evidence="exit 3", cause="no key", fix="set it")
    fine = ServerReport("fine", "stdio", LinkState.READY, required=True)
    optional = ServerReport("optional", "stdio", LinkState.FAILED, error=error)
    needed = ServerReport("needed", "stdio", LinkState.FAILED, error=error, required=True)
    raise_for_required([fine, optional])

    with pytest.raises(ConnectFailed, match="'needed' cannot be used: gone") as caught:
        raise_for_required([fine, optional, needed])
    raised = caught.value
    assert (raised.where, raised.evidence, raised.cause, raised.fix) == ("needed", "exit 3", "no key", "set it")
    assert raised.__cause__ is error


async def test_a_server_that_is_not_there_is_reported_as_such_and_nothing_is_kept_of_it(log: Path):
    async with a_roster(obeying(log)) as roster:
        report = await roster.settle(ALICE, "nobody")

        assert (report.state, str(report.error)) == (LinkState.CLOSED, "no server is called 'nobody'")
        assert roster.error_of(ALICE, "nobody") is None
        assert roster.links.find(LinkKey("nobody", Lane.OPEN, ALICE)) is None


async def test_nothing_is_linked_to_on_behalf_of_an_agent_session_that_was_ended(log: Path):
    async with running(obeying(log)) as runtime:
        roster = roster_of(runtime)
        roster.ratchets.of(ALICE).follow(SessionRecord(ALICE, DataSensitivity.PUBLIC, 1, ended=True))
        report = await roster.settle(ALICE, "work")

        assert isinstance(report.error, Refused)
        assert report.error.rule == "session_goes_on"
        assert not list(roster.links.links())


def test_what_is_over_stays_what_it_is():
    ending = Ending([], [], [])
    with pytest.raises(FrozenInstanceError):
        ending.links = []  # pyright: ignore[reportAttributeAccessIssue]
