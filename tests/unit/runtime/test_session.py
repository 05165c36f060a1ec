"""What one principal does with us: its tools, its calls, its level."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from bascule.config import RuntimeConfig
from bascule.core.errors import ConnectFailed, ConnectionLost
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolStatus
from bascule.runtime.runtime import Runtime
from bascule.upstream.state import LinkState
from support.children import children
from support.live import Living, until
from support.runtime import (
    Events,
    a_tool,
    at_work,
    bad,
    calls_in,
    good,
    obeying,
    ratchet_of,
    running,
    settled,
    stand_in,
)
from support.servers import pids
from support.waiting import fail_after

FAILING = ("failing", 3, "no API key")


def names(specs: Any) -> list[str]:
    return sorted(spec.name for spec in specs)


async def test_a_new_session_is_public_and_on_the_open_lane_once_it_is_known_to_be_new(log: Path):
    async with at_work(obeying(log)) as session:
        assert session.principal == Principal("alice", "s-1")
        assert (session.sensitivity, session.lane) == (DataSensitivity.SECRET, Lane.SEALED)
        await session.begin()
        assert (session.sensitivity, session.lane) == (DataSensitivity.PUBLIC, Lane.OPEN)
        ratchet_of(session).hold(DataSensitivity.SECRET, "seen in a test")
        assert (session.sensitivity, session.lane) == (DataSensitivity.SECRET, Lane.SEALED)


async def test_nothing_is_started_before_it_is_needed(log: Path):
    before = children()
    async with at_work(obeying(log)) as session:
        assert children() == before
        assert session.toolbox.specs() == ()
        assert [report.state for report in session.servers()] == [LinkState.CONFIGURED]


async def test_two_principals_have_two_processes(log: Path):
    async with running(obeying(log)) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-1")
        good(await alice.call("work_act", {}))
        good(await bob.call("work_act", {}))
        good(await alice.call("work_act", {}))

        assert len(set(pids(log))) == 2


async def test_a_call_needs_no_listing_before_it_and_no_arguments(log: Path):
    async with at_work(obeying(log)) as session:
        assert good(await session.call("work_act")).text == "{}"


async def test_arguments_that_change_while_the_server_starts_do_not_travel(log: Path, events: Events):
    given: dict[str, Any] = {"rows": [1]}
    async with at_work(obeying(log), events=events) as session:
        waiting = asyncio.create_task(session.call("work_act", given))
        await settled()
        given["rows"].append("secret")
        given["late"] = True
        good(await waiting)

    assert [params["arguments"] for params in calls_in(log)] == [{"rows": [1]}]
    assert events.call.arguments == {"rows": "array[1]"}


async def test_its_version_moves_when_its_tools_may_have_changed():
    living = Living("one")
    async with at_work(living.config()) as session:
        before = session.version
        await session.tools()
        listed = session.version
        await session.tools()
        assert before != listed == session.version
        await living.become("one", "two")
        await until(session.tools, lambda tools: len(tools) == 2)
        assert session.version != listed


# Several servers


async def test_the_tools_of_good_servers_are_there_while_a_bad_one_hangs(log: Path):
    async with at_work(stand_in("bad", "mute", ""), obeying(log)) as session:
        reports = session.connecting()
        first = await anext(reports)

        assert (first.name, first.state, first.tools) == ("work", LinkState.READY, 1)
        assert names(session.toolbox.specs()) == ["work_act"]
        good(await session.call("work_act", {}))
        await cast("AsyncGenerator[Any, None]", reports).aclose()


async def test_the_tools_of_good_servers_are_listed_though_a_bad_one_failed(log: Path):
    async with at_work(stand_in("bad", *FAILING), obeying(log)) as session:
        assert names(await session.tools()) == ["work_act"]
        failed, work = session.servers()

        assert (failed.state, failed.reason, failed.tools) == (LinkState.FAILED, "the server exited with code 3", 0)
        assert failed.error is not None
        assert failed.error.evidence == "no API key"
        assert (work.state, work.version, work.error) == (LinkState.READY, "2026-07-28", None)


async def test_a_server_that_failed_is_not_tried_again_by_listing(log: Path):
    async with at_work(stand_in("bad", *FAILING), obeying(log)) as session:
        await session.tools()

        assert [report async for report in session.connecting()] == []
        assert (await session.settle("bad")).state is LinkState.FAILED


async def test_one_server_can_be_settled_alone(tmp_path: Path):
    one, two = obeying(tmp_path / "one", name="one"), obeying(tmp_path / "two", name="two")
    async with at_work(one, two) as session:
        report = await session.settle("one")

        assert (report.name, report.state) == ("one", LinkState.READY)
        assert report.seconds > 0
        assert (await session.settle("one")).tools == 1
        assert not (tmp_path / "two").exists()


async def test_a_required_server_that_fails_raises_from_connecting_each_time(log: Path):
    bad_one = stand_in("bad", *FAILING, required=True)
    runtime = Runtime(RuntimeConfig(servers={"bad": bad_one, "work": obeying(log)}), prove_required=False)
    async with fail_after(20), runtime:
        session = runtime.session("alice", "s-1")
        for ask in (session.connect, session.tools, session.tools):
            with pytest.raises(ConnectFailed, match="required server 'bad' cannot be used") as caught:
                await ask()
            assert caught.value.evidence == "no API key"

        good(await session.call("work_act", {}))


async def test_a_required_server_that_came_back_no_longer_raises(log: Path):
    log.mkdir()
    runtime = Runtime(RuntimeConfig(servers={"work": obeying(log, required=True)}), prove_required=False)
    async with fail_after(20), runtime:
        session = runtime.session("alice", "s-1")
        with pytest.raises(ConnectFailed):
            await session.tools()
        log.rmdir()

        assert names(await session.tools()) == ["work_act"]


async def test_a_tool_of_a_server_that_cannot_be_used_names_that_server(log: Path):
    async with at_work(stand_in("bad", *FAILING), obeying(log)) as session:
        failure = bad(await session.call("bad_act", {}), FailureKind.CONNECTION_ERROR)

        assert "server 'bad', which cannot be used: the server exited with code 3" in failure.message
        assert failure.evidence == "no API key"
        assert not log.exists(), "a server that cannot have the tool was started"


async def test_a_server_that_cannot_be_used_is_tried_again_by_the_next_call(log: Path):
    log.mkdir()
    async with at_work(obeying(log)) as session:
        bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)
        log.rmdir()

        good(await session.call("work_act", {}))
        assert [report.state for report in session.servers()] == [LinkState.READY]


async def test_after_a_servers_death_the_next_call_works(log: Path):
    async with at_work(obeying(log)) as session:
        bad(await session.call("work_act", {"exit": 3}), FailureKind.CONNECTION_ERROR)
        assert json.loads(good(await session.call("work_act", {"n": 1})).text) == {"n": 1}

    assert len(calls_in(log)) == 2


async def test_a_servers_death_leaves_the_others_alone(tmp_path: Path):
    async with at_work(*(obeying(tmp_path / name, name=name) for name in ("one", "two"))) as session:
        await session.tools()
        os.kill(pids(tmp_path / "one")[0], signal.SIGKILL)

        good(await session.call("two_act", {}))
        assert len(pids(tmp_path / "two")) == 1


async def test_two_tools_of_one_name_are_both_hidden_and_the_answer_says_how_to_mend_it(tmp_path: Path):
    servers = [
        obeying(tmp_path / name, a_tool("act"), a_tool(f"only_{name}"), name=name, prefix="") for name in ("one", "two")
    ]
    async with at_work(*servers) as session:
        assert names(await session.tools()) == ["only_one", "only_two"]
        colliding = [spec for spec in session.toolbox.all_specs() if spec.status is ToolStatus.COLLIDING]
        failure = bad(await session.call("act", {}), FailureKind.UNKNOWN_TOOL)

        assert names(colliding) == ["act", "act"]
        assert "one/act" in failure.message
        assert "two/act" in failure.message
        assert "prefix" in failure.fix
        good(await session.call("only_two", {}))


# Finding


async def test_a_tool_is_found_by_its_exposed_name(log: Path):
    async with at_work(obeying(log, a_tool("act"), a_tool("odd", {"type": "array"}))) as session:
        found = await session.find("work_act")

        assert found is not None
        assert (found.name, found.key.tool) == ("work_act", "act")
        assert await session.find("work_act") is found
        assert await session.find("work_odd") is None
        assert await session.find("work_none") is None


async def test_a_tool_of_a_server_that_cannot_be_used_is_not_found():
    async with at_work(stand_in("bad", *FAILING)) as session:
        assert await session.find("bad_act") is None


# Closing


async def test_the_types_of_a_tool_that_cannot_be_called_are_refused_with_the_reason():
    async with at_work(stand_in("bad", "failing", 3, "no key")) as session:
        with pytest.raises(ConnectFailed, match="bad_tool may be a tool of server 'bad'"):
            await session.typed("bad_tool")


@pytest.mark.parametrize("arguments", [5, [1]])
async def test_what_holds_no_arguments_is_the_callers_mistake(log: Path, arguments: Any):
    async with at_work(obeying(log)) as session:
        with pytest.raises(TypeError):
            await session.call("work_act", arguments)


async def test_closing_a_session_closes_its_links_alone_and_a_call_opens_new_ones(log: Path):
    before = children()
    async with running(obeying(log)) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        good(await alice.call("work_act", {}))
        good(await bob.call("work_act", {}))
        await alice.close()

        assert len(children() - before) == 1
        assert [report.state for report in alice.servers()] == [LinkState.CLOSED]
        assert [report.state for report in bob.servers()] == [LinkState.READY]
        good(await alice.call("work_act", {}))
        assert len(set(pids(log))) == 3


async def test_the_operators_word_on_a_server_can_be_looked_up(log: Path):
    async with at_work(obeying(log, ask=("act",))) as session:
        assert session.config("work").ask == ("act",)
        with pytest.raises(ConnectionLost, match="removed from the configuration"):
            session.config("other")
        assert not session.ended
