"""Benchmark of the LangChain bridge: one tool beside LangChain's own, a thousand tools, and langchain-mcp-adapters."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from bascule import AgentSession, Runtime, ToolResult
from bascule.bridges.langchain.tool import governed
from bascule.config import Limits, ServerConfig, StdioTransport
from bascule.core.tool import ToolKey, ToolSpec
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, one_core, sequential
from bench.stdio_peers import ARGUMENTS, SERVER
from bench.stores import TESTS

ADAPTERS = ("langchain-mcp-adapters==0.3.2", "mcp<2")
CALLED = {"type": "tool_call", "id": "1", "name": "echo_echo", "args": ARGUMENTS}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


def _many(call: Call) -> Awaitable[float]:
    return sequential(call, 300)


async def _middle(call: Call) -> float:
    """Seconds of the call in the middle, of some one after the other: a busy machine hits short ones harder."""
    return median([await sequential(call, 1) for _ in range(21)])


@asynccontextmanager
async def _session() -> AsyncGenerator[AgentSession]:
    transport = StdioTransport(command=sys.executable, args=(SERVER,))
    config = ServerConfig(name="echo", transport=transport, limits=Limits(concurrent=None))
    async with Runtime.from_servers({"echo": config}) as runtime:
        yield runtime.session("bench", "langchain")


def _no_op() -> Any:
    """LangChain's own tool of the same shape, which does nothing."""
    from langchain_core.tools import StructuredTool

    async def nothing(**_: Any) -> tuple[str, None]:
        return "hello", None

    return StructuredTool(
        name="echo_echo",
        description="Gives back what it is given.",
        args_schema=SCHEMA,
        coroutine=nothing,
        response_format="content_and_artifact",
    )


def _invoking(tool: Any) -> Call:
    async def call() -> None:
        shown = await tool.ainvoke(CALLED)
        assert shown.content == "hello", shown

    return call


def _in_a_graph(tool: Any) -> Call:
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    graph = StateGraph(MessagesState).add_node(ToolNode([tool])).add_edge(START, "tools").compile()
    asked: Any = {"messages": [AIMessage("", tool_calls=[{"name": "echo_echo", "args": ARGUMENTS, "id": "1"}])]}

    async def call() -> None:
        state = await graph.ainvoke(asked)
        assert state["messages"][-1].content == "hello", state

    return call


def _both(first: Call, second: Call) -> Call:
    async def call() -> None:
        await first()
        await second()

    return call


@asynccontextmanager
async def _adapters() -> AsyncGenerator[Call]:
    """langchain-mcp-adapters as it is by default, in an environment of its own: a process that calls once a line."""
    # The tests know how to make an environment, once.
    sys.path.insert(0, TESTS)
    commands: Path = import_module("support.peers").environment("adapters", *ADAPTERS)
    script = str(Path(__file__).with_name("adapters_calls.py"))
    argv = (commands / "python", script, sys.executable, SERVER, json.dumps(ARGUMENTS))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def call() -> None:
        stdin.write(b"\n")
        assert await stdout.readline() == b"hello\n"

    try:
        await call()
        yield call
    finally:
        stdin.close()
        await process.wait()


async def _per_call(report: Report, session: AgentSession, tool: Any) -> None:
    async def direct() -> None:
        outcome = await session.call("echo_echo", ARGUMENTS)
        assert isinstance(outcome, ToolResult), outcome

    no_op = _no_op()
    for title, way in (("a tool", _invoking), ("a tool in a graph", _in_a_graph)):
        peers = {
            "direct": direct,
            "no-op": way(no_op),
            "direct and no-op": _both(direct, way(no_op)),
            "ours": way(tool),
        }
        with one_core():
            taken = await interleaved(peers, _many, 11)
        ratio = Row("ours / direct and no-op", taken.ratio("ours", "direct and no-op"), "×", Goal("at most", 1.2))
        report.add(f"LangChain, {title}, one call after the other", [*taken.rows("µs", 1e6), ratio])


async def _beside_adapters(report: Report, tool: Any) -> None:
    async with _adapters() as adapters:
        taken = await interleaved({"ours": _invoking(tool), "adapters": adapters}, _middle, 7)
    ratio = Row("ours / adapters", taken.ratio("ours", "adapters"), "×", Goal("at most", 1 / 50))
    report.add("LangChain, beside langchain-mcp-adapters", [*taken.rows("µs", 1e6), ratio])


def _thousand(session: AgentSession) -> float:
    """Seconds until an agent has a thousand tools."""
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    specs = [ToolSpec(f"tool_{n}", ToolKey("many", str(n)), str(n), "Acts.", input_schema=SCHEMA) for n in range(1_000)]
    started = time.perf_counter()
    create_agent(FakeListChatModel(responses=[]), [governed(session, spec) for spec in specs])
    return time.perf_counter() - started


async def run(report: Report) -> None:
    async with _session() as session:
        (spec,) = await session.offered()
        tool = governed(session, spec)
        await _per_call(report, session, tool)
        await _beside_adapters(report, tool)
        _thousand(session)
        listed = median(_thousand(session) for _ in range(5))
        report.add("LangChain, an agent with 1,000 tools", [Row("made in", listed, "s", Goal("at most", 0.5))])
