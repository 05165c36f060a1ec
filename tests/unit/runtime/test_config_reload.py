"""An edited config, applied to what runs."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.server_listing import catalog_listing
from bascule.config import Egress, RuntimeConfig, ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.core.errors import ConfigError, ConnectFailed
from bascule.core.events import ConfigApplied, ConfigRejected, LinkChanged
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import Lane
from bascule.runtime.config_reload import Reloading
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.per_principal import STARTING
from bascule.upstream.state import LinkState
from support.links import ALICE, a_key
from support.runtime import Arrived, Events, a_tool, bad, good, obeying, roster_of, running, settled, stand_in
from support.scenarios import scripted
from support.servers import pids


class Edits:
    """A running runtime, and the configs that it is given."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        assert runtime._reloading is not None
        self.reloading: Reloading = runtime._reloading
        self.session = runtime.session("alice", "s-1")
        self.roster = roster_of(runtime)

    async def to(self, *servers: ServerConfig, **settings: Any) -> ConfigApplied:
        return await self.apply(RuntimeConfig(servers={server.name: server for server in servers}, **settings))

    async def apply(self, config: RuntimeConfig) -> ConfigApplied:
        return await self.reloading.apply(lambda: config)


@asynccontextmanager
async def edited(*servers: ServerConfig, events: Events | None = None) -> AsyncGenerator[Edits]:
    async with running(*servers, events=events) as runtime:
        yield Edits(runtime)


def with_env(server: ServerConfig, **env: str) -> ServerConfig:
    assert isinstance(server.transport, StdioTransport)
    return replace(server, transport=replace(server.transport, env=env))


@pytest.fixture
def work(log: Path) -> ServerConfig:
    return obeying(log)


@pytest.fixture
def other(tmp_path: Path) -> ServerConfig:
    return obeying(tmp_path / "other", name="other")


def told(events: Events, kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# What is done


async def test_nothing_that_did_not_change_is_touched(work: ServerConfig, log: Path, events: Events):
    async with edited(work, events=events) as edits:
        good(await edits.session.call("work_act", {}))
        link = edits.roster.links.find(a_key("work"))
        applied = await edits.to(replace(work, location="elsewhere"))

        assert (applied.added, applied.removed, applied.restarted, applied.retuned) == ((), (), (), ())
        assert edits.roster.links.find(a_key("work")) is link
        assert edits.roster.servers["work"].location == "elsewhere"
        good(await edits.session.call("work_act", {}))
        assert len(pids(log)) == 1
    assert told(events, ConfigApplied) == []


async def test_a_changed_server_begins_anew(work: ServerConfig, other: ServerConfig, log: Path, tmp_path: Path):
    async with edited(work, other) as edits:
        await edits.session.tools()
        applied = await edits.to(with_env(work, TOKEN="x"), other)

        assert applied.restarted == ("work",)
        assert edits.roster.links.find(a_key("work")) is None
        assert edits.roster.unsettled(ALICE) == ("work",)
        assert len(await edits.session.tools()) == 2
        assert (len(pids(log)), len(pids(tmp_path / "other"))) == (2, 1)


async def test_a_removed_server_leaves_nothing_behind(work: ServerConfig, other: ServerConfig):
    async with edited(work, other) as edits:
        await edits.session.tools()
        good(await edits.session.call("work_act", {}))
        await edits.to(other)

        roster = edits.roster
        assert [spec.name for spec in edits.session.toolbox.specs()] == ["other_act"]
        for known in (roster.masks, roster.listings.exposures, roster.servers):
            assert known.keys() == {"other"}
        listings = roster.listings
        assert {name for _, name in (*listings._known, *listings._capabilities, *roster.errors)} == {"other"}
        assert listings._latest.keys() == {"other"}
        assert {link.key.server for link in roster.links.links()} == {"other"}
        failure = bad(await edits.session.call("work_act", {}), FailureKind.UNKNOWN_TOOL)
        assert "work_act" in failure.message


@pytest.mark.parametrize("gone", [True, False], ids=["removed", "changed"])
async def test_a_call_in_flight_is_told_why_it_ended(work: ServerConfig, gone: bool):
    async with edited(with_env(work, TOKEN="very-secret")) as edits:
        arrived = Arrived()
        call = edits.session.call("work_act", {"silent": True, "progress": [1]}, on_progress=arrived)
        waiting = asyncio.create_task(call)
        await arrived.wait()
        await (edits.to() if gone else edits.to(work))

        failure = bad(await waiting, FailureKind.CONNECTION_ERROR)
        word = "removed from the configuration" if gone else "configuration was changed"
        assert word in failure.message
        assert failure.code == "BSC-402"


async def test_who_waits_for_a_link_gets_the_new_server(work: ServerConfig, log: Path):
    mute = stand_in("work", "mute", "waiting")
    async with edited(mute) as edits:
        settling = asyncio.create_task(edits.session.settle("work"))
        await settled()
        assert edits.roster.links.find(a_key("work")) is not None
        await edits.to(work)

        assert (await settling).state is LinkState.READY
        assert edits.roster.error_of(ALICE, "work") is None
        assert len(pids(log)) == 1


async def test_who_waits_for_a_link_to_a_removed_server_is_told_that_there_is_none():
    async with edited(stand_in("work", "mute", "waiting")) as edits:
        settling = asyncio.create_task(edits.session.settle("work"))
        await settled()
        assert edits.roster.links.find(a_key("work")) is not None
        await edits.to()

        assert (await settling).error is not None
        assert edits.session.servers() == ()
        assert edits.roster.error_of(ALICE, "work") is None


async def test_an_old_secret_is_masked_after_newer_ones_have_come(work: ServerConfig):
    async with edited(with_env(work, TOKEN="old-secret-token")) as edits:
        await edits.to(with_env(work, TOKEN="new-secret-token"))

        shown = edits.roster.masks["work"].text("old-secret-token new-secret-token")
        assert shown == "*** ***"
        await edits.to(with_env(work, TOKEN="third-secret"))
        assert edits.roster.masks["work"].text("old-secret-token new-secret-token") == "*** ***"


# Without a new start


@pytest.mark.parametrize("change", [{"render": "json"}, {"required": True}, {"idempotent": ("act",)}], ids=str)
async def test_what_is_read_for_each_call_changes_under_a_server_that_runs(
    work: ServerConfig, log: Path, change: dict[str, Any]
):
    async with edited(work) as edits:
        good(await edits.session.call("work_act", {}))
        applied = await edits.to(replace(work, **change))

        assert (applied.retuned, applied.restarted) == (("work",), ())
        good(await edits.session.call("work_act", {}))
        (field,) = change
        assert getattr(edits.roster.servers["work"], field) == change[field]


async def test_a_time_limit_holds_from_the_next_call_on(work: ServerConfig):
    async with edited(work) as edits:
        good(await edits.session.call("work_act", {}))
        await edits.to(replace(work, timeouts=replace(work.timeouts, call=0.05)))

        bad(await edits.session.call("work_act", {"silent": True}), FailureKind.TIMEOUT)


async def test_a_tool_that_is_blocked_is_gone_at_once_and_one_that_is_allowed_comes(log: Path):
    server = obeying(log, a_tool("act"), a_tool("rest"), block=("rest",))
    async with edited(server) as edits:
        good(await edits.session.call("work_act", {}))
        applied = await edits.to(replace(server, block=("act",)))

        assert applied.retuned == ("work",)
        assert [spec.name for spec in edits.session.toolbox.specs()] == ["work_rest"]
        bad(await edits.session.call("work_act", {}), FailureKind.UNKNOWN_TOOL)
        good(await edits.session.call("work_rest", {}))
        assert len(pids(log)) == 1


async def test_a_call_decided_before_a_tool_was_blocked_is_decided_again(log: Path, work: ServerConfig):
    async with edited(work) as edits:
        good(await edits.session.call("work_act", {}))
        await edits.roster.links.close([a_key("work")])
        held = edits.roster.lease
        leased = asyncio.Event()

        async def slow(key: Any, *, ahead: bool = False) -> Any:
            link = await held(key, ahead=ahead)
            leased.set()
            await edits.to(replace(work, block=("act",)))
            # It was allowed when it began to wait; the link it waited for is gone meanwhile.
            await edits.roster.links.close([key])
            return link

        edits.roster.lease = slow
        bad(await edits.session.call("work_act", {}), FailureKind.UNKNOWN_TOOL)
        assert leased.is_set()


async def test_a_link_whose_tools_cannot_be_listed_again_makes_room_for_another(tmp_path: Path, log: Path):
    silent: dict[str, Any] = {"tools/list": [{"result": {"tools": [a_tool("act")]}}, {}]}
    server = scripted(tmp_path, silent, {})
    limits = replace(server.timeouts, list=0.3)
    async with edited(replace(server, timeouts=limits)) as edits:
        await edits.session.tools()
        await edits.to(replace(server, timeouts=limits, prefix="w"))

        assert [spec.name for spec in await edits.session.tools()] == ["w_act"]
        assert len(pids(tmp_path / "work.log")) == 2


async def test_what_was_being_catalogued_by_the_old_rules_is_not_taken(tmp_path: Path, log: Path):
    file = tmp_path / "tools"
    # So many that they are read in a thread, in which time an edit can come.
    file.write_text(json.dumps([a_tool(f"act{number}", description="x" * 2000) for number in range(200)]))
    server = stand_in("work", "obeying", log, f"@{file}")
    async with edited(server) as edits:
        roster, started, go = edits.roster, threading.Event(), threading.Event()

        def slow(*words: Any) -> Any:
            if words[1] == "work":
                started.set()
                assert go.wait(10)
            return catalog_listing(*words)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bascule.runtime.servers.listings.catalog_listing", slow)
            settling = asyncio.create_task(edits.session.settle("work"))
            await asyncio.to_thread(started.wait, 10)
            await edits.to(replace(server, prefix="w"))
            go.set()
            await settling

        assert {spec.name[:5] for spec in roster.listings.toolbox(ALICE).specs()} == {"w_act"}
        assert len(roster.listings.toolbox(ALICE).specs()) == 200
        assert len(pids(log)) == 1


async def test_who_is_logged_in_where_is_asked_anew_of_a_server_that_is_elsewhere():
    here = ServerConfig("far", StreamableHttpTransport("https://a.example/mcp"))
    async with edited(here) as edits:
        before = edits.roster.login_of(ALICE, "far")
        await edits.to(replace(here, prefix="f"))
        assert edits.roster.login_of(ALICE, "far") is before
        await edits.to(replace(here, transport=StreamableHttpTransport("https://b.example/mcp")))

        assert edits.roster.login_of(ALICE, "far")._target.url == "https://b.example/mcp"


# What is refused


async def test_a_config_that_cannot_be_read_changes_nothing_and_is_told_once(work: ServerConfig, events: Events):
    def broken() -> RuntimeConfig:
        raise ConfigError("bascule.yaml has 1 problem", problems=("bascule.yaml:1: no",))

    async with edited(work, events=events) as edits:
        before = edits.reloading.config
        for _ in range(2):
            with pytest.raises(ConfigError):
                await edits.reloading.apply(broken)
        assert edits.reloading.config is before
        good(await edits.session.call("work_act", {}))
        assert len(told(events, ConfigRejected)) == 1
        # That it is whole again is told, also if nothing came of it in the end.
        await edits.to(work)
        assert len(told(events, ConfigApplied)) == 1
        with pytest.raises(ConfigError):
            await edits.reloading.apply(broken)
        assert len(told(events, ConfigRejected)) == 2


@pytest.mark.parametrize("how", ["added", "restarted", "retuned"])
async def test_a_required_server_is_proved_first(work: ServerConfig, other: ServerConfig, how: str, events: Events):
    failing = stand_in("other", "failing", 3, "no database")
    running_now = {"added": [], "restarted": [other], "retuned": [failing]}[how]
    async with edited(work, *running_now, events=events) as edits:
        good(await edits.session.call("work_act", {}))
        with pytest.raises(ConnectFailed, match="required server 'other' cannot be used") as caught:
            await edits.to(replace(failing, required=True))

        assert "no database" in caught.value.evidence
        assert edits.roster.servers.keys() == {"work", *(server.name for server in running_now)}
        good(await edits.session.call("work_act", {}))
    # What was only tried is nobody's affair.
    assert not [event for event in told(events, LinkChanged) if event.principal == STARTING]


async def test_a_required_server_that_can_be_used_is_taken(work: ServerConfig, log: Path):
    async with edited() as edits:
        applied = await edits.to(replace(work, required=True))

        assert applied.added == ("work",)
        assert len(pids(log)) == 1
        good(await edits.session.call("work_act", {}))
        assert len(pids(log)) == 2


# What is told


async def test_settings_that_need_a_new_start_are_told_once_and_stay(work: ServerConfig, other: ServerConfig):
    async with edited(work) as edits:
        first = await edits.to(work, links_max=7, screen="refuse")
        again = await edits.to(work, other, links_max=7, screen="refuse")
        back = await edits.to(work, other)

        assert [note.split()[0] for note in first.notes] == ["links.max", "catalog.screen"]
        assert (again.notes, again.added, back.notes) == ((), ("other",), ())
        assert edits.runtime.config.links_max == 100
        assert not edits.roster.listings.refuse


async def test_what_is_worth_telling_of_the_file_is_told_when_it_is_new(work: ServerConfig, events: Events):
    async with edited(work, events=events) as edits:
        assert (await edits.to(work, notes=("ignored: x",))).notes == ("ignored: x",)
        assert (await edits.to(work, notes=("ignored: x",))).notes == ()
    assert len(told(events, ConfigApplied)) == 1


async def test_edits_are_applied_one_after_the_other(work: ServerConfig, other: ServerConfig, events: Events):
    async with edited(work, events=events) as edits:
        await edits.session.tools()
        await asyncio.gather(edits.to(other), edits.to(work, other), edits.to(work))

        assert edits.roster.servers.keys() == {"work"}
    steps = [(event.added, event.removed) for event in told(events, ConfigApplied)]
    assert steps == [(("other",), ("work",)), (("work",), ()), ((), ("other",))]


async def test_a_report_is_of_the_server_that_is_configured_now(work: ServerConfig):
    async with edited(stand_in("work", "failing", 3, "no database")) as edits:
        assert (await edits.session.settle("work")).state is LinkState.FAILED
        await edits.to(work)

        assert edits.roster.report(ALICE, "work").state is LinkState.CONFIGURED
        assert (await edits.session.settle("work")).state is LinkState.READY


async def test_the_hosts_that_an_edit_allows_or_removes_count_for_addresses_from_then_on(work: ServerConfig):
    async with edited(work) as edits:
        await edits.session.begin()
        standing = edits.session._standing
        for allow in ((), ("a.test",), ()):
            await edits.to(work, egress=Egress(allow=allow))
            rule = standing.address_rule(Lane.PROXIED)
            assert rule is not None
            assert rule.permits("https://a.test/") is bool(allow)
