"""Benchmark of the OpenAI Agents bridge: one tool beside an empty function tool of the SDK, and a thousand tools."""

import json
import sys
import time
from collections.abc import Awaitable
from statistics import median
from typing import Any

from bascule import AgentSession, Runtime, ToolResult
from bascule.bridges.openai_agents import mcp_server, tools
from bascule.config import Limits, ServerConfig, StdioTransport
from bascule.core.tool import ToolKey, ToolSpec
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, one_core, sequential
from bench.stdio_peers import ARGUMENTS, SERVER

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


def _many(call: Call) -> Awaitable[float]:
    return sequential(call, 300)


def _invoking(tool: Any) -> Call:
    """As a run does, once it has decided to."""
    from agents.tool import invoke_function_tool
    from agents.tool_context import ToolContext

    given = json.dumps(ARGUMENTS)

    async def call() -> None:
        context: Any = ToolContext(context=None, tool_name="echo_echo", tool_call_id="1", tool_arguments=given)
        output = await invoke_function_tool(function_tool=tool, context=context, arguments=given)
        assert output in ("hello", {"type": "text", "text": "hello"}), output

    return call


def _both(first: Call, second: Call) -> Call:
    async def call() -> None:
        await first()
        await second()

    return call


def _no_op_function() -> Any:
    from agents import function_tool

    @function_tool(name_override="echo_echo")
    async def nothing(message: str) -> str:
        """Gives back what it is given."""
        return message

    return nothing


async def _tool_of(server: Any) -> Any:
    """A server's one tool, as the SDK makes it."""
    return (await _tools_of(server))[0]


async def _tools_of(server: Any) -> list[Any]:
    from agents import Agent, RunContextWrapper
    from agents.mcp import MCPUtil

    context: Any = RunContextWrapper(context=None)
    return await MCPUtil.get_all_function_tools([server], False, context, Agent("bench"))  # noqa: FBT003 -- the SDK's own


def _no_op_server() -> Any:
    """A server in this process that answers without a thought."""
    import mcp_types

    from bascule.bridges.openai_agents import GovernedServer

    tool = mcp_types.Tool(name="echo_echo", description="Gives back what it is given.", input_schema=SCHEMA)
    said = mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="hello")])

    class NoOp(GovernedServer):
        async def list_tools(self, *_: Any, **__: Any) -> list[mcp_types.Tool]:
            return [tool]

        async def call_tool(self, *_: Any, **__: Any) -> mcp_types.CallToolResult:
            return said

    session: Any = None
    return NoOp(session, "no-op")


async def _per_call(report: Report, session: AgentSession) -> None:
    async def direct() -> None:
        outcome = await session.call("echo_echo", ARGUMENTS)
        assert isinstance(outcome, ToolResult), outcome

    (function,) = await tools(session)
    ways = {
        "a function tool": (_no_op_function(), function),
        "a tool of a server": (await _tool_of(_no_op_server()), await _tool_of(mcp_server(session))),
    }
    for title, (no_op, ours) in ways.items():
        nothing = _invoking(no_op)
        peers = {
            "direct": direct,
            "no-op": nothing,
            "direct and no-op": _both(direct, nothing),
            "ours": _invoking(ours),
        }
        with one_core():
            taken = await interleaved(peers, _many, 11)
        ratio = Row("ours / direct and no-op", taken.ratio("ours", "direct and no-op"), "×", Goal("at most", 1.2))
        report.add(f"OpenAI Agents, {title}, one call after the other", [*taken.rows("µs", 1e6), ratio])


class _Thousand:
    """An agent session with a thousand tools."""

    def __init__(self) -> None:
        self.specs = tuple(
            ToolSpec(f"tool_{n}", ToolKey("many", str(n)), str(n), "Acts.", input_schema=SCHEMA) for n in range(1_000)
        )

    async def offered(self) -> tuple[ToolSpec, ...]:
        return self.specs


async def _seconds(doing: Awaitable[Any]) -> float:
    started = time.perf_counter()
    await doing
    return time.perf_counter() - started


async def _listing(report: Report) -> None:
    session: Any = _Thousand()
    first = median([await _seconds(_tools_of(mcp_server(session))) for _ in range(5)])
    kept = mcp_server(session)
    again = median([await _seconds(_tools_of(kept)) for _ in range(6)][1:])
    functions = median([await _seconds(tools(session)) for _ in range(5)])
    rows = [
        Row("of a server, in a first turn", first, "s", Goal("at most", 0.5)),
        Row("of a server, in each turn after it", again, "s", Goal("at most", 0.5)),
        Row("as function tools", functions, "s", Goal("at most", 0.5)),
    ]
    report.add("OpenAI Agents, 1,000 tools listed", rows)


async def run(report: Report) -> None:
    from agents import set_tracing_disabled

    set_tracing_disabled(disabled=True)
    transport = StdioTransport(command=sys.executable, args=(SERVER,))
    config = ServerConfig(name="echo", transport=transport, limits=Limits(concurrent=None))
    async with Runtime.from_servers({"echo": config}) as runtime:
        await _per_call(report, runtime.session("bench", "openai"))
    await _listing(report)
