"""How much of a server one agent session may have, and what another notices of it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Outcome, ToolFailure
from bascule.config import Limits
from bascule.core.outcome import FailureKind
from support.contract import KINDS, served
from support.offers import DONE, ELICIT, offering, required
from support.runtime import Arrived, Events, at_work, bad, calls_in, good, obeying, running, text, well
from support.scenarios import entry, from_file, log_of, scripted, write_yaml

BUSY = {"progress": [1], "silent": True}


@asynccontextmanager
async def busy(session: AgentSession, calls: int) -> AsyncGenerator["list[asyncio.Task[Outcome]]"]:
    """So many calls under way, which their server will never answer."""
    tasks: list[asyncio.Task[Outcome]] = []
    try:
        for _ in range(calls):
            arrived = Arrived()
            tasks.append(asyncio.create_task(session.call("work_act", BUSY, on_progress=arrived)))
            await arrived.wait()
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def limited(outcome: Any, name: str, value: int) -> ToolFailure:
    """The refusal by one limit, with all that it has to tell."""
    failure = bad(outcome, FailureKind.DENIED)
    assert failure.code == "BSC-301"
    assert failure.retriable is True
    assert f"`limits.{name}` is {value}" in failure.message
    assert f"raise `limits.{name}` of the server work" in failure.fix
    assert 1 <= int(failure.retry_after) <= 61
    return failure


@pytest.mark.requirement("POL-6")
async def test_one_call_too_many_is_refused_with_when_to_come_back_and_never_sent(tmp_path: Path, events: Events):
    log = tmp_path / "log"
    async with at_work(obeying(log, limits=Limits(2)), events=events) as session, busy(session, 2):
        failure = limited(await session.call("work_act", {"mine": 1}), "concurrent", 2)
        assert events.call.outcome is failure
        assert [*failure.steps] == ["resolve", "validate"]
        assert len(calls_in(log)) == 2

    assert failure.retry_after == "1"
    assert "guess" in failure.fix


@pytest.mark.requirement("POL-6")
async def test_sixteen_calls_may_be_under_way_where_nothing_is_said(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session, busy(session, 16):
        limited(await session.call("work_act"), "concurrent", 16)


@pytest.mark.requirement("POL-6")
async def test_what_one_agent_session_has_another_does_not_lack_and_nor_does_another_server(tmp_path: Path):
    servers = [obeying(tmp_path / name, name=name, limits=Limits(1)) for name in ("work", "other")]
    async with running(*servers) as runtime:
        mine, yours = runtime.session("alice", "s-1"), runtime.session("alice", "s-2")
        async with busy(mine, 1):
            limited(await mine.call("work_act"), "concurrent", 1)
            good(await mine.call("other_act"))
            good(await yours.call("work_act"))
            good(await runtime.session("bob", "s-1").call("work_act"))


@pytest.mark.requirement("POL-6")
@pytest.mark.parametrize(
    "ending",
    [
        {},
        {"result": {"isError": True, **text("no")}},
        {"error": {"code": -32000, "message": "no"}},
        {"result": {"content": "not a list"}},
        {"exit": 1},
        {"silent": True},
    ],
    ids=["result", "tool error", "refusal", "nonsense", "death", "silence"],
)
async def test_however_a_call_ends_it_makes_room_for_the_next(tmp_path: Path, ending: dict[str, Any]):
    async with at_work(obeying(tmp_path / "log", limits=Limits(1))) as session:
        for _ in range(3):
            await session.call("work_act", ending, timeout=0.3 if "silent" in ending else None)
        good(await session.call("work_act"))
        async with busy(session, 1) as (waiting,):
            limited(await session.call("work_act"), "concurrent", 1)
            waiting.cancel()
            await asyncio.wait((waiting,))
            good(await session.call("work_act"))


@pytest.mark.requirement("POL-6")
async def test_calls_are_counted_by_the_minute(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(obeying(log, limits=Limits(per_minute=3))) as session:
        for _ in range(3):
            good(await session.call("work_act"))
        failure = limited(await session.call("work_act"), "per_minute", 3)

    assert int(failure.retry_after) > 30
    assert len(calls_in(log)) == 3


@pytest.mark.requirement("POL-6")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["there", "back"])
async def test_bytes_are_counted_by_the_minute_both_ways_on_every_transport(kind: str, way: str, tmp_path: Path):
    large = "x" * 20_000
    order = {"mine": large, "result": text("ok")} if way == "there" else {"result": text(large)}
    async with served(kind, tmp_path, limits=Limits(bytes_per_minute=30_000)) as server, running(server) as runtime:
        session = runtime.session("alice", "s-1")
        # A result of 20,000 bytes is in the order that asks for it too, and so moves both ways.
        outcomes = [await session.call("work_act", order) for _ in range(3)]
        assert [outcome.ok for outcome in outcomes] == ([True, True, False] if way == "there" else [True, False, False])
        limited(outcomes[-1], "bytes_per_minute", 30_000)
        good(await runtime.session("bob", "s-1").call("work_act"))


@pytest.mark.requirement("POL-6")
async def test_rounds_of_questions_are_one_call(tmp_path: Path):
    rounds = {"tools/call": [required("s", q=ELICIT), required("t", q=ELICIT), DONE]}
    server = offering(tmp_path, scenario=rounds, limits=Limits(1, per_minute=1))
    async with at_work(server, on_elicit=lambda _: None) as session:
        good(await session.call("work_act"))
        limited(await session.call("work_act"), "per_minute", 1)

    assert len(calls_in(log_of(tmp_path))) == 3


@pytest.mark.requirement("POL-6")
async def test_a_call_that_is_sent_again_is_one_call(tmp_path: Path):
    dies = {"tools/call": [{"exit": 1}]}
    server = scripted(tmp_path, dies, {}, idempotent=("act",), limits=Limits(1, per_minute=1))
    async with at_work(server) as session:
        good(await session.call("work_act"))

    assert len(calls_in(log_of(tmp_path))) == 2


@pytest.mark.requirement("POL-6")
async def test_resources_prompts_and_completions_count_and_listings_do_not(tmp_path: Path):
    content = {"result": {"contents": [], "messages": [], "resultType": "complete"}}
    scenario = {"resources/read": [content], "prompts/get": [content]}
    server = offering(tmp_path, scenario=scenario, uris=("a://1",), prompts=({"name": "greet"},), limits=Limits(1, 2))
    async with at_work(server) as session:
        for _ in range(3):
            await session.resources(refresh=True)
            await session.prompts(refresh=True)
        well(await session.read("a://1"))
        well(await session.prompt("work_greet"))
        limited(await session.read("a://1"), "per_minute", 2)
        limited(await session.prompt("work_greet"), "per_minute", 2)
        limited(await session.call("work_act"), "per_minute", 2)


@pytest.mark.requirement("POL-6")
async def test_a_limit_tells_nobody_of_a_tool_they_may_not_know_of(tmp_path: Path):
    server = obeying(tmp_path / "log", block=("hidden",), limits=Limits(1))
    async with at_work(server) as session, busy(session, 1):
        bad(await session.call("work_hidden"), FailureKind.UNKNOWN_TOOL)


@pytest.mark.requirement("POL-6")
async def test_an_operator_raises_a_limit_in_the_file(tmp_path: Path):
    raised = entry("obeying", tmp_path / "log", limits={"concurrent": 20})
    async with from_file(write_yaml(tmp_path, {"work": raised})) as session, busy(session, 20):
        limited(await session.call("work_act"), "concurrent", 20)


@pytest.mark.requirement("POL-6")
async def test_no_limit_is_none(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", limits=Limits(concurrent=None))) as session, busy(session, 20):
        good(await session.call("work_act"))
