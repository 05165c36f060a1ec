"""Isolated twins in their servers' place: the same tools or none, and never a way back to the open server."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from os import kill
from pathlib import Path
from typing import Any

import pytest

from bascule.config import Limits, ServerConfig, StdioTransport, StreamableHttpTransport, Timeouts
from bascule.config.model.transport import Transport
from bascule.core.json_types import JsonObject
from bascule.core.outcome import ToolFailure
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.session import AgentSession
from support.light_servers import light_http
from support.racing import end_of, watched
from support.runtime import QUICKLY, a_tool, at_work, calls_in, good, obeying
from support.servers import argv, methods, pids
from support.waiting import until

CONFIDENTIAL, SECRET = DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET

ACT = a_tool("act", description="Does as it is told.")
TOOLS = [ACT, a_tool("other", {"properties": {"a": {"type": "integer"}}})]

TRIES = 100


def command(name: str, *args: object) -> StdioTransport:
    program, *rest = argv(name, *args)
    return StdioTransport(program, tuple(rest))


def twin_of(log: Path, tools: list[JsonObject]) -> StdioTransport:
    return command("obeying", log, json.dumps(tools))


def server(folder: Path, isolated: Transport, **settings: Any) -> ServerConfig:
    """One that is open, and has a twin."""
    settings = {"restart": QUICKLY, "limits": Limits(concurrent=None), **settings}
    return obeying(folder / "open", *TOOLS, isolated=isolated, **settings)


@asynccontextmanager
async def raised(
    folder: Path, twin: Transport, level: DataSensitivity = SECRET, **settings: Any
) -> AsyncGenerator[AgentSession]:
    """An agent session that has used the open server, and has become private since."""
    async with at_work(server(folder, twin, **settings)) as session:
        assert good(await session.call("work_act", {})).lane is Lane.OPEN
        await session.add_private_dataset("salaries", level)
        yield session


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def down(how: str) -> Transport:
    match how:
        case "nothing listens":
            return StreamableHttpTransport(f"http://127.0.0.1:{closed_port()}/mcp")
        case "it ends at once":
            return command("failing", 3, "no disk")
        case _:
            return StdioTransport("there-is-no-such-program")


@pytest.mark.parametrize("level", [CONFIDENTIAL, SECRET])
async def test_the_twin_serves_the_same_names_and_receipts_say_that_it_is_declared(
    tmp_path: Path, level: DataSensitivity
):
    async with raised(tmp_path, twin_of(tmp_path / "twin", TOOLS), level) as session:
        outcome = good(await session.call("work_other", {"a": 1}))
        names = {tool.name for tool in await session.tools()}
        receipt = session.receipts[-1]

    assert (outcome.lane, names) == (Lane.SEALED, {"work_act", "work_other"})
    assert (receipt.closed, receipt.twins) == (("work (open)",), {"work": "declared"})
    assert len(calls_in(tmp_path / "open")) == len(calls_in(tmp_path / "twin")) == 1


@pytest.mark.parametrize("how", ["nothing listens", "it ends at once", "there is none"])
async def test_a_twin_that_is_down_is_never_replaced_by_the_open_server(tmp_path: Path, how: str):
    async with raised(tmp_path, down(how)) as session:
        before = methods(tmp_path / "open")
        tries = TRIES if how == "nothing listens" else TRIES // 10
        outcomes = [await session.call("work_act", {}) for _ in range(tries)]
        together = await asyncio.gather(*(session.call("work_act", {}) for _ in range(TRIES - tries)))

    ends = {end_of(outcome) for outcome in (*outcomes, *together)}
    assert ends == {"BSC-410" if how == "there is none" else "BSC-401"}
    assert methods(tmp_path / "open") == before


async def test_a_twin_that_hangs_while_it_opens_is_given_up_in_time():
    brief = Timeouts(connect=2, reconnect=2, probe=0.5, list=15, call=15, close=0.2)
    hanging = command("mute", "waiting for something")
    async with light_http() as transport:
        config = ServerConfig("work", transport, timeouts=brief, isolated=hanging)
        async with at_work(config) as session:
            await session.connect()
            await session.add_private_dataset("salaries", SECRET)
            with watched(transport) as lanes:
                failures = await asyncio.gather(*(session.call("work_echo", {"message": "a"}) for _ in range(10)))

    assert {end_of(failure) for failure in failures} == {"BSC-401"}
    assert "waiting for something" in str(failures[0])
    assert lanes.opened_after(0) == []


async def test_a_call_whose_twin_dies_fails_and_the_next_one_has_a_new_twin(tmp_path: Path):
    log = tmp_path / "twin"
    async with raised(tmp_path, twin_of(log, TOOLS)) as session:
        good(await session.call("work_act", {}))
        call = asyncio.create_task(session.call("work_act", {"silent": True}))
        await until(lambda: len(calls_in(log)) == 2)
        kill(pids(log)[-1], signal.SIGKILL)
        cut = await call
        again = good(await session.call("work_act", {}))

    assert end_of(cut) == "BSC-402"
    assert again.lane is Lane.SEALED
    assert len(set(pids(log))) == 2
    assert len(calls_in(tmp_path / "open")) == 1


ANOTHER = {
    "an altered schema": (
        [ACT, a_tool("other", {"properties": {"a": {"type": "string"}}})],
        "other: another input schema",
    ),
    "an output schema": (
        [{**ACT, "outputSchema": {"type": "object"}}, TOOLS[1]],
        "act: another output schema",
    ),
    "a missing tool": ([ACT], "other: the twin does not have it"),
    "an additional tool": ([*TOOLS, a_tool("more")], "more: only the twin has it"),
}


@pytest.mark.parametrize(("tools", "difference"), ANOTHER.values(), ids=ANOTHER)
async def test_a_twin_that_is_another_server_gets_nothing_and_it_is_told_why(
    tmp_path: Path, tools: list[JsonObject], difference: str
):
    async with raised(tmp_path, twin_of(tmp_path / "twin", tools)) as session:
        outcomes = [await session.call("work_act", {}) for _ in range(3)]

    assert [end_of(outcome) for outcome in outcomes] == ["BSC-302"] * 3
    for outcome in outcomes:
        assert isinstance(outcome, ToolFailure)
        assert difference in outcome.evidence
        assert len(outcome.evidence.splitlines()) == 2
    assert calls_in(tmp_path / "twin") == []
    assert len(calls_in(tmp_path / "open")) == 1


async def test_a_twin_whose_tool_may_do_more_gets_nothing(tmp_path: Path):
    tools = [{**ACT, "_meta": {"dev.bascule/permissions": ["connect"]}}, TOOLS[1]]
    believed: dict[str, Any] = {"permissions": {"act": "read"}, "trust": frozenset({"permissions"})}
    async with raised(tmp_path, twin_of(tmp_path / "twin", tools), **believed) as session:
        outcome = await session.call("work_act", {})

    assert isinstance(outcome, ToolFailure)
    assert outcome.code == "BSC-302"
    assert outcome.evidence == "rule: twin_is_the_same\nact: may read there, and connect and read at the twin"
    assert calls_in(tmp_path / "twin") == []


async def test_a_twin_that_says_the_same_in_other_words_is_used_and_warned_of(tmp_path: Path):
    tools = [{**ACT, "description": "Obeys."}, TOOLS[1]]
    async with raised(tmp_path, twin_of(tmp_path / "twin", tools)) as session:
        assert good(await session.call("work_act", {})).lane is Lane.SEALED
        (report,) = session.servers()
        described = {tool.name: tool.description for tool in await session.tools()}

    assert report.notes == ("its twin describes act in other words",)
    assert described["work_act"] == ACT["description"]


async def test_an_eager_twin_is_open_before_it_is_needed(tmp_path: Path):
    log = tmp_path / "twin"
    async with at_work(server(tmp_path, twin_of(log, TOOLS), twin="eager")) as session:
        await session.connect()
        await until(lambda: "tools/list" in methods(log))
        started = pids(log)
        await session.add_private_dataset("salaries", SECRET)
        assert good(await session.call("work_act", {})).lane is Lane.SEALED

    assert pids(log) == started
    assert len(calls_in(log)) == 1


async def test_a_lazy_twin_is_not_started_before_it_is_needed(tmp_path: Path):
    log = tmp_path / "twin"
    async with at_work(server(tmp_path, twin_of(log, TOOLS))) as session:
        await session.connect()
        await session.add_private_dataset("salaries", SECRET)
        assert pids(log) == []
        good(await session.call("work_act", {}))

    assert len(pids(log)) == 1


async def test_an_eager_twin_that_fails_disturbs_nobody_until_it_is_needed(tmp_path: Path):
    async with at_work(server(tmp_path, command("failing", 3, "no disk"), twin="eager")) as session:
        await session.connect()
        assert good(await session.call("work_act", {})).lane is Lane.OPEN
        await session.add_private_dataset("salaries", SECRET)
        assert end_of(await session.call("work_act", {})) == "BSC-401"

    assert len(calls_in(tmp_path / "open")) == 1
