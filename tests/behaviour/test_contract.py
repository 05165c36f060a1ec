"""One contract, kept on every transport: a caller cannot tell how a server is reached."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule import AgentSession, Outcome, Runtime
from bascule.config import ServerConfig
from bascule.core.outcome import FailureKind
from support.contract import KINDS, served
from support.runtime import Arrived, Events, bad, good, running

pytestmark = pytest.mark.requirement("TRN-7")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def server(kind: str, tmp_path: Path) -> AsyncGenerator[ServerConfig]:
    async with served(kind, tmp_path) as config:
        yield config


@pytest.fixture
async def session(server: ServerConfig) -> AsyncGenerator[AgentSession]:
    async with running(server) as runtime:
        yield runtime.session("alice", "s-1")


async def in_flight(session: AgentSession) -> "asyncio.Task[Outcome]":
    """A call that its server has got and will never answer."""
    arrived = Arrived()
    order = {"progress": [1], "silent": True}
    waiting = asyncio.create_task(session.call("work_act", order, on_progress=arrived))
    await arrived.wait()
    return waiting


async def test_the_factory_picks_the_transport_the_config_names(session: AgentSession, kind: str):
    (report,) = await session.connect()

    assert (report.transport, report.state, report.version, report.tools) == (kind, "ready", "2026-07-28", 1)


async def test_arguments_arrive_as_they_were_given(session: AgentSession):
    given = {"text": "zwölf\n\u2028 \U0001f309", "number": 1.5, "list": [None, True, {"deep": []}], "": 0}
    result = good(await session.call("work_act", given))

    assert json.loads(result.text) == given
    assert (result.server, result.tool) == ("work", "act")


async def test_structured_content_arrives_whole(session: AgentSession):
    structured = {"rows": [{"id": 1, "name": "é"}], "more": None}
    result = await session.call("work_act", {"result": {"content": [], "structuredContent": structured}})

    assert good(result).structured == structured


async def test_an_error_of_the_tool_is_an_outcome(session: AgentSession):
    said = {"isError": True, "content": [{"type": "text", "text": "no such row"}]}

    assert bad(await session.call("work_act", {"result": said}), FailureKind.TOOL_ERROR).message == "no such row"


async def test_an_error_of_the_protocol_keeps_its_code_and_data(session: AgentSession):
    error = {"code": -32077, "message": "out of tea", "data": {"tea": 0}}
    failure = bad(await session.call("work_act", {"error": error}), FailureKind.TOOL_ERROR)

    assert (failure.message, failure.tool_code, failure.cause) == ("out of tea", -32077, {"tea": 0})


async def test_progress_comes_before_the_result_and_the_last_of_it_always(session: AgentSession):
    heard: list[float] = []
    result = await session.call(
        "work_act", {"progress": [1, 2, 3]}, on_progress=lambda value, _total, _word: heard.append(value)
    )

    assert good(result)
    assert heard == sorted(heard)
    assert heard[-1] == 3


async def test_silence_ends_by_the_calls_own_deadline_and_the_next_call_works(session: AgentSession):
    await session.connect()
    late = bad(await session.call("work_act", {"silent": True}, timeout=0.2), FailureKind.TIMEOUT)

    assert "tools/call" in late.message
    assert "0.2 s" in late.message
    assert "timeouts.call" in late.fix
    assert good(await session.call("work_act", {"after": 1}))


async def test_calls_at_the_same_time_get_each_their_own_answer(session: AgentSession, scale: int):
    calls = [session.call("work_act", {"number": number}) for number in range(50 * scale)]
    results = await asyncio.gather(*calls)

    assert [json.loads(good(result).text)["number"] for result in results] == [*range(50 * scale)]


async def test_a_caller_who_stops_waiting_harms_nobody(session: AgentSession):
    await session.connect()
    waiting = await in_flight(session)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert good(await session.call("work_act", {"after": 1}))


async def test_closing_ends_what_is_in_flight(server: ServerConfig):
    events = Events()
    async with running(server, events=events) as runtime:
        session = runtime.session("alice", "s-1")
        await session.connect()
        waiting = await in_flight(session)
        await runtime.close()
        bad(await waiting, FailureKind.CONNECTION_ERROR)
    assert [event.outcome.ok for event in events.calls] == [False]


async def test_a_message_over_the_cap_is_not_taken(server: ServerConfig):
    large = {"content": [{"type": "text", "text": "x" * 100_000}]}
    async with running(server, message_max=64 * 1024) as runtime:
        session = runtime.session("alice", "s-1")
        failure = bad(await session.call("work_act", {"result": large}), FailureKind.PROTOCOL_ERROR)
        assert "65536 bytes" in failure.message
        assert "messages.max" in failure.fix
        assert good(await session.call("work_act", {"after": 1}))


@pytest.mark.requirement("TRN-6")
@pytest.mark.parametrize("library", ["mcp", "fastmcp"])
async def test_a_server_object_in_this_process_is_governed_like_any_other(library: str):
    if library == "mcp":
        from mcp.server import MCPServer as Library
    else:
        from fastmcp import FastMCP as Library
    server = Library("sums")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert add
    async with Runtime.from_servers({"sums": server}) as runtime:
        session = runtime.session("alice", "s-1")
        assert [spec.name for spec in await session.tools()] == ["sums_add"]
        assert good(await session.call("sums_add", {"a": 2, "b": 3})).structured == {"result": 5}
        wrong = bad(await session.call("sums_add", {"a": "two", "b": 3}), FailureKind.INVALID_ARGUMENTS)
        assert "argument 'a'" in wrong.message
