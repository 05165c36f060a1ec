"""Where one principal stands before the servers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.entry import Entry
from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.config.diff import ConfigDiff
from bascule.core.call import ToolCall
from bascule.core.errors import ConnectFailed, ConnectionLost, LoginNeeded, UnknownTool
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolStatus
from bascule.links.key import LinkKey
from bascule.runtime.prepared import Prepared
from bascule.runtime.standing import Standing
from bascule.runtime.tool_call import TOOL_CALL
from support.fake_login import fake_login
from support.links import ALICE
from support.runtime import a_tool, obeying, roster_of, running, stand_in
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
        stands.roster.version += 1

        assert stands.known("work_act") is None
        assert await stands.resolve("work_act") is entry
        assert stands.known("work_act") is entry


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
        stands.ratchet.raise_to(DataSensitivity.CONFIDENTIAL)
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
        stands.ratchet.raise_to(DataSensitivity.SECRET)

        assert stands.link_key("work", stands.ratchet.lane) == LinkKey("work", Lane.SEALED, ALICE)


async def test_a_request_carries_the_servers_own_name_and_the_configured_limit(log: Path):
    def progressed(*_: Any) -> None:
        """Not called here."""

    async with standing(obeying(log, a_tool("act.now"), render="json")) as stands:
        entry = await stands.resolve("work_act_now")
        permit = stands.ratchet.permit()
        call = ToolCall("work_act_now", {"n": 1}, on_progress=progressed)
        request = stands.request(prepared_for(entry, call), permit)

        assert (request.method, request.phase, request.timeout) == ("tools/call", "call", 10)
        assert request.params is not None
        assert (request.params["name"], bytes(request.params["arguments"])) == ("act.now", b'{"n":1}')
        assert (request.permit, request.on_progress, request.headers) == (permit, progressed, {})
        assert stands.style_of("work") == "json"


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
        stands.ratchet.raise_to(DataSensitivity.INTERNAL)
        assert stands.allowed(entry.spec) is None
        stands.allow(entry.spec, Lane.OPEN)
        stands.roster.version += 1
        stands.known("work_act")
        assert stands.allowed(entry.spec) is None


async def test_a_tool_of_a_server_that_waits_for_a_login_asks_for_it():
    async with (
        fail_after(20),
        fake_login() as fake,
        standing(ServerConfig("notes", StreamableHttpTransport(fake.url))) as stands,
    ):
        with pytest.raises(LoginNeeded, match="notes_write may be a tool") as caught:
            await stands.resolve("notes_write")

    assert caught.value.fix == "run `bascule login notes`"


async def test_what_waited_for_a_server_that_was_removed_ends_typed(log: Path):
    async with standing(obeying(log, render="json")) as stands:
        entry = await stands.resolve("work_act")
        stands.allow(entry.spec, Lane.OPEN)
        prepared = prepared_for(entry, ToolCall("work_act", {}))
        roster = stands.roster
        assert stands.style_of("work") == "json"
        roster.adopt({}, ConfigDiff(removed=("work",)))

        assert stands.allowed(entry.spec) is None
        assert not stands.facts(entry.spec).exposure.permits("act")
        assert stands.facts(entry.spec, of_tools=False).exposure.permits("act")
        assert stands.style_of("work") == "yaml"
        for asked in (stands.limit_of, lambda p: stands.request(p, stands.ratchet.permit())):
            with pytest.raises(ConnectionLost, match="removed from the configuration") as lost:
                asked(prepared)
            assert not lost.value.sent
