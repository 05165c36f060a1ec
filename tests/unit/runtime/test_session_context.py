"""Where one principal stands before the servers."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from bascule.catalog.entry import Entry
from bascule.config import Limits, ServerConfig, StreamableHttpTransport
from bascule.config.diff import ConfigDiff
from bascule.core.call import ToolCall
from bascule.core.errors import ConnectFailed, ConnectionLost, LimitReached, LoginNeeded, UnknownTool
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ASKING, ToolKey, ToolStatus
from bascule.policy.exposure import Exposure
from bascule.policy.facts import FACTS
from bascule.policy.rules import RULES, facts_read
from bascule.runtime.prepared_call import Prepared, Rounds
from bascule.runtime.requests.tool_call import TOOL_CALL
from bascule.runtime.session_context import KEYED_FACTS, Standing
from bascule.store.levels.interface import SessionRecord
from bascule.upstream.key import LinkKey
from support.fake_login import fake_login
from support.links import ALICE, BOB
from support.live import Living
from support.runtime import TIMEOUTS, a_tool, obeying, roster_of, running, stand_in
from support.scenarios import listing, log_of, scripted
from support.servers import pids
from support.waiting import fail_after

REGIONAL = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


def prepared_for(entry: Entry, call: ToolCall) -> Prepared:
    return TOOL_CALL.prepare(entry, call)


@asynccontextmanager
async def standing(*servers: ServerConfig) -> AsyncGenerator[Standing]:
    async with running(*servers) as runtime:
        yield Standing(ALICE, roster_of(runtime))


async def test_a_tool_is_resolved_by_linking_to_its_server_alone(tmp_path: Path):
    async with standing(*(obeying(tmp_path / name, name=name) for name in ("one", "two"))) as stands:
        assert stands.known("one_act") is None
        entry = await stands.resolve("one_act")

        assert entry.spec.key == ToolKey("one", "act")
        assert stands.known("one_act") is entry
        assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("name", ["work.act", "work/act", "work:act"])
async def test_a_name_as_other_programs_write_it_is_unknown_and_the_right_one_is_named(log: Path, name: str):
    async with standing(obeying(log)) as stands:
        with pytest.raises(UnknownTool) as caught:
            await stands.resolve(name)
    assert caught.value.message == f"there is no tool '{name}'; did you mean work_act?"


async def test_a_server_without_a_prefix_could_have_any_tool(tmp_path: Path):
    bare, other = obeying(tmp_path / "bare", name="bare", prefix=""), obeying(tmp_path / "other", name="other")
    async with standing(bare, other) as stands:
        assert (await stands.resolve("act")).spec.key.server == "bare"
        assert (await stands.resolve("other_act")).spec.key.server == "other"


async def test_a_tool_is_routed_by_the_table_and_not_by_its_name(tmp_path: Path):
    """`a` and `a_b` are servers: `a_b_act` may be a tool of either."""
    short = obeying(tmp_path / "a", a_tool("b_act"), name="a")
    long = obeying(tmp_path / "a_b", a_tool("other"), name="a_b")
    async with standing(short, long) as stands:
        assert (await stands.resolve("a_b_act")).spec.key == ToolKey("a", "b_act")


async def test_what_was_found_is_forgotten_when_the_catalog_changes(log: Path):
    async with standing(obeying(log)) as stands:
        entry = await stands.resolve("work_act")
        stands.roster.listings.version += 1

        assert stands.known("work_act") is None
        assert await stands.resolve("work_act") is entry
        assert stands.known("work_act") is entry


async def test_servers_are_gone_through_only_when_the_catalog_has_changed(log: Path):
    async with standing(obeying(log)) as alice:
        await alice.resolve("work_act")
        listings, before = alice.roster.listings, alice.toolbox
        known, listings.servers = listings.servers, {}
        assert alice.toolbox is before

        listings.adopt(known)
        assert alice.toolbox is before
        listings.forget("work")
        assert alice.toolbox.all_specs() == ()


async def test_an_unknown_tool_is_answered_alike_on_both_ways(log: Path):
    async with standing(obeying(log)) as stands:
        with pytest.raises(UnknownTool) as caught:
            await stands.resolve("work_acts")
        same = stands.unknown("work_acts")

        assert (same.message, same.nearest, same.fix) == (
            caught.value.message,
            caught.value.nearest,
            caught.value.fix,
        )
        assert stands.known("work_acts") is None


async def test_what_is_no_tool_raises_by_no_rule_but_as_far_as_labels_could(log: Path):
    ruled = obeying(log, raises={"*": "internal"}, trust=("labels",))
    async with standing(ruled, obeying(log, name="plain")) as stands:
        spec = (await stands.resolve("work_act")).spec
        assert stands.unread(spec) is DataSensitivity.INTERNAL
        assert stands.unread(spec, of_tools=False) is DataSensitivity.SECRET
        assert stands.unread((await stands.resolve("plain_act")).spec) is None


async def test_a_tool_that_a_failed_server_could_have_is_not_called_unknown(log: Path):
    async with standing(obeying(log), stand_in("bare", "failing", 3, "no API key", prefix="")) as stands:
        with pytest.raises(ConnectFailed, match=r"work_acts may be a tool of server 'bare'") as caught:
            await stands.resolve("work_acts")

        assert (caught.value.where, caught.value.evidence) == ("bare", "no API key")
        assert caught.value.fix
        assert (await stands.resolve("work_act")).spec.key.server == "work"


async def test_the_facts_are_those_of_the_moment(log: Path):
    async with standing(obeying(log, block=("none",))) as stands:
        entry = await stands.resolve("work_act")
        before = stands.facts(entry.spec)
        stands.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        after = stands.facts(entry.spec)

    assert (before.key, before.name, before.principal) == (ToolKey("work", "act"), "work_act", ALICE)
    assert (before.status, before.problem) == (ToolStatus.EXPOSED, "")
    assert not before.exposure.permits("none")
    assert (before.level, before.lane) == (DataSensitivity.PUBLIC, Lane.OPEN)
    assert (after.level, after.lane) == (DataSensitivity.CONFIDENTIAL, Lane.PROXIED)


async def test_a_raised_level_is_another_key(log: Path):
    async with standing(obeying(log)) as stands:
        key = stands.link_key("work", stands.ratchet.lane)
        assert key == LinkKey("work", Lane.OPEN, ALICE)
        assert stands.link_key("work", stands.ratchet.lane) is key
        stands.ratchet.hold(DataSensitivity.SECRET, "seen in a test")

        assert stands.link_key("work", stands.ratchet.lane) == LinkKey("work", Lane.SEALED, ALICE)


async def test_a_request_carries_the_servers_own_name_and_the_configured_limit(log: Path):
    def progressed(*_: Any) -> None:
        """Not called here."""

    async with standing(obeying(log, a_tool("act.now"), render="json")) as stands:
        entry = await stands.resolve("work_act_now")
        permit = stands.ratchet.permit()
        call = ToolCall("work_act_now", {"n": 1}, on_progress=progressed)
        request = stands.request(prepared_for(entry, call), permit)

        assert (request.method, request.phase, request.timeout) == ("tools/call", "call", TIMEOUTS.call)
        assert request.params is not None
        assert (request.params["name"], bytes(request.params["arguments"])) == ("act.now", b'{"n":1}')
        assert (request.permit, request.on_progress, request.headers) == (permit, progressed, {})


@pytest.mark.parametrize("given", [0.5, 120.0])
async def test_a_limit_of_the_call_replaces_the_configured_one(log: Path, given: float):
    async with standing(obeying(log)) as stands:
        entry = await stands.resolve("work_act")
        request = stands.request(prepared_for(entry, ToolCall("work_act", {}, given)), stands.ratchet.permit())

        assert request.timeout == given


async def test_arguments_a_tool_wants_as_headers_are_in_the_request(log: Path):
    async with standing(obeying(log, a_tool("act", REGIONAL))) as stands:
        entry = await stands.resolve("work_act")
        request = stands.request(prepared_for(entry, ToolCall("work_act", {"region": "eu"})), stands.ratchet.permit())

        assert request.headers == {"Mcp-Param-Region": "eu"}


async def test_what_was_allowed_is_remembered_until_the_session_or_the_tool_changes(log: Path):
    async with standing(obeying(log)) as stands:
        entry = await stands.resolve("work_act")
        assert stands.allowed(entry.spec) is None
        stands.allow(entry.spec, Lane.OPEN)
        assert stands.allowed(entry.spec) is Lane.OPEN
        assert stands.allowed(replace(entry.spec)) is None
        stands.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        assert stands.allowed(entry.spec) is None
        stands.allow(entry.spec, Lane.OPEN)
        stands.roster.listings.version += 1
        stands.known("work_act")
        assert stands.allowed(entry.spec) is None


def edited(stands: Standing, **settings: Any) -> None:
    server = replace(stands.roster.servers["work"], **settings)
    stands.roster.adopt({"work": server}, ConfigDiff(retuned=("work",)))


CHANGES: dict[str, tuple[set[str], Callable[[Standing], object]]] = {
    "a raise to another lane": (
        {"level", "lane", "because"},
        lambda stands: stands.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test"),
    ),
    "a raise within the lane": (
        {"level", "because"},
        lambda stands: stands.ratchet.hold(DataSensitivity.INTERNAL, "seen in a test"),
    ),
    "the end of the agent session": (
        {"ended"},
        lambda stands: stands.ratchet.follow(SessionRecord(ALICE, DataSensitivity.PUBLIC, 1, ended=True)),
    ),
    "an edit of `ask`": ({"asks"}, lambda stands: edited(stands, ask=("act",))),
    "an edit of `block`": ({"exposure"}, lambda stands: edited(stands, block=("act",))),
    "an edit of `vouched`": ({"footing"}, lambda stands: edited(stands, vouched=DataSensitivity.SECRET)),
}
"""Facts that can change while a tool and an agent session stay the same objects, and a way in which each does."""

OF_THE_TOOL = {"key", "name", "status", "permissions", "problem"}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_remembered_verdict_does_not_outlive_a_fact_that_it_may_depend_on(log: Path, change: str):
    fields, happen = CHANGES[change]
    async with standing(obeying(log)) as stands:
        spec = (await stands.resolve("work_act")).spec
        before = stands.facts(spec)
        stands.allow(spec, Lane.OPEN)
        assert stands.allowed(spec) is Lane.OPEN
        happen(stands)
        after = stands.facts(spec)

        assert {field for field in FACTS - {"now"} if getattr(before, field) != getattr(after, field)} == fields
        assert stands.allowed(spec) is None


def test_each_fact_that_the_key_of_a_verdict_covers_is_shown_to_be_covered():
    changed = set[str]().union(*(fields for fields, _ in CHANGES.values()))
    assert changed | OF_THE_TOOL | {"principal"} == KEYED_FACTS


def test_verdicts_of_the_built_in_rules_are_remembered():
    assert {
        rule.__name__: facts_read(rule) - KEYED_FACTS for rule in RULES if not facts_read(rule) <= KEYED_FACTS
    } == {}


async def test_a_tool_of_a_server_that_waits_for_a_login_asks_for_it():
    async with (
        fail_after(20),
        fake_login() as fake,
        standing(ServerConfig("notes", StreamableHttpTransport(fake.url))) as stands,
    ):
        with pytest.raises(LoginNeeded, match="notes_write may be a tool") as caught:
            await stands.resolve("notes_write")

    assert caught.value.fix == "run `bascule login notes`"


class Clock:
    """Time that a test moves."""

    now = 5000.0

    def __call__(self) -> float:
        return self.now


async def test_a_minute_after_its_limit_was_reached_a_call_is_admitted_again(log: Path):
    clock = Clock()
    async with running(obeying(log, limits=Limits(None, per_minute=2))) as runtime:
        stands = Standing(ALICE, roster_of(runtime), clock)
        for _ in range(2):
            stands.admit("work").leave()
        with pytest.raises(LimitReached):
            stands.admit("work")
        clock.now += 60.1
        stands.admit("work").leave()


async def test_limits_are_those_of_the_moment(log: Path):
    async with standing(obeying(log, limits=Limits(1))) as stands:
        meter = stands.admit("work")
        with pytest.raises(LimitReached):
            stands.admit("work")
        changed = replace(stands.roster.servers["work"], limits=Limits(2))
        stands.roster.servers = {"work": changed}
        assert stands.admit("work") is meter
        assert meter.under_way == 2


@pytest.mark.parametrize(("limits", "counted"), [(Limits(), False), (Limits(bytes_per_minute=9), True)])
async def test_bytes_are_counted_only_where_they_are_limited(log: Path, limits: Limits, counted: bool):
    async with standing(obeying(log, limits=limits)) as stands:
        meter, permit = stands.admit("work"), stands.ratchet.permit()
        prepared = Prepared("tools/call", "work", {})
        assert stands.request(prepared, permit, meter).tally is (meter.tally if counted else None)
        assert stands.request(prepared, permit).tally is None


async def test_a_request_that_goes_round_again_has_what_is_left_of_its_time(log: Path):
    async with standing(obeying(log)) as stands:
        again = Prepared("tools/call", "work", {}, 30.0, rounds=Rounds(perf_counter() + 4, 30.0))
        assert 0 < stands.request(again, stands.ratchet.permit()).timeout <= 4


async def test_a_tool_may_be_repeated_if_the_operator_says_so(log: Path):
    async with standing(obeying(log, a_tool("get_a"), a_tool("put_a"), idempotent=("get_*",))) as stands:
        specs = [(await stands.resolve(name)).spec for name in ("work_get_a", "work_put_a")]
        assert [stands.may_repeat(spec) for spec in specs] == [True, False]


# What servers remove


async def refusal(stands: Standing, name: str) -> UnknownTool:
    with pytest.raises(UnknownTool) as caught:
        await stands.resolve(name)
    return caught.value


async def listed_as(stands: Standing, server: Living, *tools: str) -> None:
    server.tools = dict.fromkeys(tools, "")
    link = await stands.roster.lease(stands.link_key("work", Lane.OPEN))
    await stands.roster.refreshing.look(link)
    stands.roster.refreshing._pursuits.clear()


async def test_a_removed_tool_says_so_until_it_comes_back():
    server = Living("read_note", "write_note")
    async with standing(server.config()) as stands:
        assert "removed" not in (await refusal(stands, "work_drop_note")).message
        await stands.resolve("work_read_note")
        await listed_as(stands, server, "write_note")

        assert stands.known("work_read_note") is None
        gone = await refusal(stands, "work_read_note")
        assert gone.message.startswith("'work_read_note' was removed by its server, work; did you mean work_write_note")
        assert gone.nearest == ("work_write_note",)
        assert "removed" not in (await refusal(stands, "work_drop_note")).message
        await listed_as(stands, server, "write_note", "read_note")
        assert (await stands.resolve("work_read_note")).spec.name == "work_read_note"


async def test_of_a_hidden_tool_nobody_learns_that_it_was_removed():
    server = Living("secret", "plain")
    async with standing(server.config(block=("secret",))) as stands:
        before = (await refusal(stands, "work_secret")).message
        await listed_as(stands, server, "plain")

        assert (await refusal(stands, "work_secret")).message == before
        assert before == stands.unknown("work_secret").message


async def test_one_that_was_hidden_since_is_unknown_too():
    server = Living("secret", "plain")
    async with standing(server.config()) as stands:
        await stands.resolve("work_secret")
        await listed_as(stands, server, "plain")
        stands.roster.listings.exposures["work"] = Exposure.of(None, ("secret",))

        assert (await refusal(stands, "work_secret")).message == stands.unknown("work_secret").message


async def test_what_was_removed_before_somebody_came_is_unknown_to_them():
    server = Living("one", "two")
    async with standing(server.config()) as stands:
        await stands.resolve("work_one")
        await listed_as(stands, server, "two")
        bob = Standing(BOB, stands.roster)

        assert "removed" not in (await refusal(bob, "work_one")).message


async def test_a_server_that_died_may_come_back_with_the_tool_that_is_asked_for(tmp_path: Path):
    lives = ({"tools/list": [listing(a_tool("act"))]}, {"tools/list": [listing(a_tool("dance"))]})
    async with standing(scripted(tmp_path, *lives)) as stands:
        await stands.resolve("work_act")
        link = await stands.roster.lease(stands.link_key("work", Lane.OPEN))
        os.kill(pids(log_of(tmp_path))[-1], signal.SIGKILL)
        assert link._owner is not None
        await asyncio.wait((link._owner,))

        assert (await stands.resolve("work_dance")).spec.key.tool == "dance"
        assert "was removed" in (await refusal(stands, "work_act")).message


async def test_what_waited_for_a_server_that_was_removed_ends_typed(log: Path):
    async with standing(obeying(log, render="json")) as stands:
        entry = await stands.resolve("work_act")
        stands.allow(entry.spec, Lane.OPEN)
        prepared = prepared_for(entry, ToolCall("work_act", {}))
        roster = stands.roster
        roster.adopt({}, ConfigDiff(removed=("work",)))

        assert stands.allowed(entry.spec) is None
        assert not stands.facts(entry.spec).exposure.permits("act")
        assert stands.facts(entry.spec, of_tools=False).exposure.permits("act")
        for asked in (stands.limit_of, lambda p: stands.request(p, stands.ratchet.permit())):
            with pytest.raises(ConnectionLost, match="removed from the configuration") as lost:
                asked(prepared)
            assert not lost.value.sent


async def test_what_another_request_may_do_is_the_operators_word_on_its_method(log: Path):
    async with standing(obeying(log, permissions={"resources/read": "read"})) as stands:
        key = ToolKey("work", "a://1")
        assert stands.subject("resources/read", key, "a").permissions == {Permission.READ}
        assert stands.subject("prompts/get", key, "a").permissions == ASKING
        assert stands.subject("resources/read", ToolKey("gone", "a"), "a").permissions == ASKING
