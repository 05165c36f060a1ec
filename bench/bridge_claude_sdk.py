"""Benchmark of the Claude Agent SDK bridge: a session's tool called and listed, beside the same call without the bridge
and a tool of the SDK's own."""

import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Self

from bascule import AgentSession, Runtime, ToolResult
from bascule.config import Limits, ServerConfig, StdioTransport
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, one_core, sequential
from bench.stdio_peers import ARGUMENTS, SERVER

TOOLS, ROUNDS = 1_000, 5
OBEYING = str(Path(SERVER).with_name("obeying.py"))
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@asynccontextmanager
async def session_of(*args: str) -> AsyncGenerator[AgentSession]:
    transport = StdioTransport(command=sys.executable, args=args)
    config = ServerConfig(name="echo", transport=transport, limits=Limits(concurrent=None))
    async with Runtime.from_servers({"echo": config}) as runtime:
        yield runtime.session("bench", "claude_sdk")


class Connected:
    """The SDK's own bridge to a server in this process, asked as the CLI asks it."""

    def __init__(self, server: Any) -> None:
        from claude_agent_sdk._internal.sdk_mcp_bridge import SdkMcpBridge

        self._bridge = SdkMcpBridge("tools", server["instance"])
        self._number = 0

    async def __aenter__(self) -> Self:
        await self.ask("initialize", CLIENT)
        await self._bridge.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._bridge.aclose()

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        reply = await self._bridge.handle({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert reply is not None
        return reply["result"]

    def calling(self, name: str) -> Call:
        async def call() -> None:
            reply = await self.ask("tools/call", {"name": name, "arguments": ARGUMENTS})
            assert reply["content"][0]["text"] == ARGUMENTS["message"]

        return call


def own() -> Any:
    """A server of the SDK's own, with a tool that does nothing."""
    from claude_agent_sdk import create_sdk_mcp_server, tool

    @tool("echo", "Gives back what it is given.", {"message": str})
    async def echo(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": given["message"]}]}

    return create_sdk_mcp_server("own", tools=[echo])


@asynccontextmanager
async def peers() -> AsyncGenerator[dict[str, Call]]:
    from bascule.bridges.claude_sdk import sdk_server

    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(session_of(SERVER))
        theirs = (await stack.enter_async_context(Connected(own()))).calling("echo")
        ours = (await stack.enter_async_context(Connected(sdk_server(session)))).calling("echo_echo")

        async def direct() -> None:
            outcome = await session.call("echo_echo", ARGUMENTS)
            assert isinstance(outcome, ToolResult), outcome

        async def one_and_the_other() -> None:
            # One after the other: in a loop of its own, what does nothing is never driven from the processor's caches.
            await direct()
            await theirs()

        await direct()
        yield {
            "the session": direct,
            "a tool of the SDK's own": theirs,
            "one and the other": one_and_the_other,
            "the session by the SDK": ours,
        }


def _calls(call: Call) -> Awaitable[float]:
    return sequential(call, 200)


async def calling(report: Report) -> None:
    async with peers() as ways:
        taken = await interleaved(ways, _calls, 11)
    ratio = taken.ratio("the session by the SDK", "one and the other")
    rows = [*taken.rows("µs", 1e6), Row("by the SDK / one and the other", ratio, "×", Goal("at most", 1.2))]
    report.add("a call by the Claude Agent SDK", rows)


async def listing(report: Report) -> None:
    from bascule.bridges.claude_sdk import sdk_server

    with TemporaryDirectory() as folder:
        schema = {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}
        many = [{"name": f"t{n}", "description": f"Tool {n}.", "inputSchema": schema} for n in range(TOOLS)]
        file = Path(folder, "tools.json")
        file.write_text(json.dumps(many))
        async with session_of(OBEYING, f"{folder}/log", f"@{file}") as session:
            await session.offered()
            async with Connected(sdk_server(session)) as connected:
                taken = median([await _seconds(connected) for _ in range(ROUNDS)])
    report.add(f"{TOOLS:,} tools listed to the CLI", [Row("each time", taken, "s", Goal("at most", 0.5))])


async def _seconds(connected: Connected) -> float:
    started = time.perf_counter()
    assert len((await connected.ask("tools/list", {}))["tools"]) == TOOLS
    return time.perf_counter() - started


async def run(report: Report) -> None:
    with one_core():
        await calling(report)
    await listing(report)
