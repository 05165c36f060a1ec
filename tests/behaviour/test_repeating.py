"""What is sent a second time, and what never is."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.outcome import FailureKind
from support.contract import answer_over_http
from support.http_servers import Asked, raw_server
from support.offers import offering
from support.runtime import Arrived, Events, a_tool, at_work, bad, calls_in, good, obeying
from support.scenarios import entry, from_file, listing, log_of, scripted, write_yaml
from support.servers import methods, pids

DIES: dict[str, Any] = {"tools/call": [{"exit": 3}]}
"""A life in which the server writes down its first call, and dies of it."""


@pytest.mark.requirement("LNK-7")
async def test_a_tool_that_the_operator_calls_idempotent_is_called_again_after_its_server_died(
    tmp_path: Path, events: Events
):
    async with at_work(scripted(tmp_path, DIES, {}, idempotent=("a*",)), events=events) as session:
        assert good(await session.call("work_act", {"n": 1})).text == "done"

    assert [call["arguments"] for call in calls_in(log_of(tmp_path))] == [{"n": 1}, {"n": 1}]
    (finding,) = events.call.findings
    assert "exited with code 3" in finding
    assert "act may be sent again" in finding


@pytest.mark.requirement("LNK-7")
@pytest.mark.parametrize("idempotent", [(), ("other",)])
async def test_any_other_tool_is_called_once_whatever_its_server_says_of_it(
    tmp_path: Path, idempotent: tuple[str, ...], events: Events
):
    claims = {"idempotentHint": True, "readOnlyHint": True, "destructiveHint": False}
    life = {"tools/list": [listing(a_tool("act", annotations=claims))]}
    async with at_work(scripted(tmp_path, {**life, **DIES}, life, idempotent=idempotent), events=events) as session:
        failure = bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)
        good(await session.call("work_act"))

    assert (failure.code, failure.message) == ("BSC-402", "the server exited with code 3")
    assert len(calls_in(log_of(tmp_path))) == 2
    assert [call.findings for call in events.calls] == [(), ()]


@pytest.mark.requirement("LNK-7")
@pytest.mark.parametrize(("idempotent", "times"), [(("act",), 2), ((), 1)])
async def test_over_http_a_connection_that_breaks_is_no_other_reason(idempotent: tuple[str, ...], times: int):
    calls: list[Asked] = []

    async def break_once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.message["method"] == "tools/call":
            calls.append(asked)
            if len(calls) == 1:
                writer.transport.abort()
                return
        await answer_over_http(asked, writer)

    async with raw_server(break_once) as server:
        config = ServerConfig("work", StreamableHttpTransport(server.url), idempotent=idempotent)
        async with at_work(config) as session:
            outcome = await session.call("work_act")

    assert (outcome.ok, len(calls)) == (times == 2, times)
    assert len({asked.id for asked in calls}) == times


@pytest.mark.requirement("LNK-7")
async def test_a_server_that_dies_of_every_call_is_left_alone_in_the_end(tmp_path: Path, events: Events):
    async with at_work(scripted(tmp_path, DIES, idempotent=("act",)), events=events) as session:
        bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)

    assert len(calls_in(log_of(tmp_path))) == len(events.call.findings) + 1
    assert 2 <= len(calls_in(log_of(tmp_path))) <= 4


@pytest.mark.requirement("LNK-7")
async def test_a_server_that_did_not_answer_in_time_or_refused_is_not_asked_again(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(obeying(log, idempotent=("*",))) as session:
        bad(await session.call("work_act", {"silent": True}, timeout=0.2), FailureKind.TIMEOUT)
        bad(await session.call("work_act", {"error": {"code": -32000, "message": "no"}}), FailureKind.TOOL_ERROR)

    assert len(calls_in(log)) == 2


@pytest.mark.requirement("LNK-7")
async def test_going_again_gives_a_call_no_more_time(tmp_path: Path):
    silent = {"tools/call": [{}]}
    async with at_work(scripted(tmp_path, DIES, silent, idempotent=("act",))) as session:
        failure = bad(await session.call("work_act", timeout=3), FailureKind.TIMEOUT)

    assert len(calls_in(log_of(tmp_path))) == 2
    # What is told is what was left when it was sent again.
    assert float(failure.message.split("within ")[1].removesuffix(" s")) < 3


@pytest.mark.requirement("LNK-7")
async def test_reading_a_resource_is_not_done_twice(tmp_path: Path):
    dies = {"resources/read": [{"exit": 3}]}
    async with at_work(offering(tmp_path, uris=("a://1",), scenario=dies, idempotent=("*",))) as session:
        bad(await session.read("a://1"), FailureKind.CONNECTION_ERROR)

    assert methods(log_of(tmp_path)).count("resources/read") == 1


@pytest.mark.requirement("LNK-7")
async def test_what_was_closed_on_purpose_is_not_opened_by_the_call_that_this_ended(tmp_path: Path):
    log, arrived = tmp_path / "log", Arrived()
    async with at_work(obeying(log, idempotent=("act",))) as session:
        order = {"progress": [1], "silent": True}
        waiting = asyncio.create_task(session.call("work_act", order, on_progress=arrived))
        await arrived.wait()
        await session.close()
        bad(await waiting, FailureKind.CONNECTION_ERROR)

    assert len(pids(log)) == 1


@pytest.mark.requirement("LNK-7")
async def test_idempotent_tools_are_named_in_the_file(tmp_path: Path):
    server = scripted(tmp_path, DIES, {})
    transport: Any = server.transport
    described = {"command": transport.command, "args": [*transport.args], "idempotent": ["act"]}
    async with from_file(write_yaml(tmp_path, {"work": described, "other": entry("echo")})) as session:
        good(await session.call("work_act"))
