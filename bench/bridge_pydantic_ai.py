"""Benchmark of the PydanticAI bridge: a session's tool called and listed, beside the same call without the bridge and a
function tool of the framework's own."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bascule import AgentSession, Runtime, ToolResult
from bascule.config import Limits, ServerConfig, StdioTransport
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, one_core, sequential
from bench.stdio_peers import ARGUMENTS, SERVER

TOOLS, ROUNDS = 1_000, 5
OBEYING = str(Path(SERVER).with_name("obeying.py"))


@asynccontextmanager
async def session_of(*args: str) -> AsyncGenerator[AgentSession]:
    transport = StdioTransport(command=sys.executable, args=args)
    config = ServerConfig(name="echo", transport=transport, limits=Limits(concurrent=None))
    async with Runtime.from_servers({"echo": config}) as runtime:
        yield runtime.session("bench", "pydantic_ai")


def context() -> Any:
    from pydantic_ai import RunContext
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.usage import RunUsage

    return RunContext(deps=None, model=TestModel(), usage=RunUsage())


async def by_framework(tools: Any, name: str) -> Call:
    """A call as an agent makes it: the arguments come as JSON, are validated, and the tool is run."""
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.tool_manager import ToolManager

    manager = await ToolManager(tools).for_run_step(context())
    arguments = json.dumps(ARGUMENTS)

    async def call() -> None:
        assert await manager.handle_call(ToolCallPart(name, arguments)) == ARGUMENTS["message"]

    return call


async def echo(message: str) -> str:
    """Gives back what it is given."""
    return message


@asynccontextmanager
async def peers() -> AsyncGenerator[dict[str, Call]]:
    from pydantic_ai.toolsets import FunctionToolset

    from bascule.bridges.pydantic_ai import toolset

    async with session_of(SERVER) as session:

        async def direct() -> None:
            outcome = await session.call("echo_echo", ARGUMENTS)
            assert isinstance(outcome, ToolResult), outcome

        own = await by_framework(FunctionToolset([echo]), "echo")

        async def one_and_the_other() -> None:
            # One after the other: after a wait for a server even a function that does nothing takes three times as
            # long as in a loop of its own, in which nothing has driven it from the processor's caches.
            await direct()
            await own()

        await direct()
        yield {
            "the session": direct,
            "a function tool of its own": own,
            "one and the other": one_and_the_other,
            "the session by PydanticAI": await by_framework(toolset(session), "echo_echo"),
        }


def _calls(call: Call) -> Awaitable[float]:
    return sequential(call, 300)


async def calling(report: Report) -> None:
    async with peers() as ways:
        taken = await interleaved(ways, _calls, 11)
    ratio = taken.ratio("the session by PydanticAI", "one and the other")
    rows = [*taken.rows("µs", 1e6), Row("by PydanticAI / one and the other", ratio, "×", Goal("at most", 1.2))]
    report.add("a call by PydanticAI", rows)


async def listing(report: Report) -> None:
    from bascule.bridges.pydantic_ai import toolset

    with TemporaryDirectory() as folder:
        schema = {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}
        many = [{"name": f"t{n}", "description": f"Tool {n}.", "inputSchema": schema} for n in range(TOOLS)]
        file = Path(folder, "tools.json")
        file.write_text(json.dumps(many))
        async with session_of(OBEYING, f"{folder}/log", f"@{file}") as session:
            await session.offered()
            first = median([await _seconds(toolset(session)) for _ in range(ROUNDS)])
            kept = toolset(session)
            await _seconds(kept)
            again = median([await _seconds(kept) for _ in range(ROUNDS)])
    rows = [Row("first", first, "s", Goal("at most", 0.5)), Row("before every further request", again, "s")]
    report.add(f"{TOOLS:,} tools listed to PydanticAI", rows)


async def _seconds(tools: Any) -> float:
    await asyncio.sleep(0)
    started = time.perf_counter()
    assert len(await tools.get_tools(context())) == TOOLS
    return time.perf_counter() - started


async def run(report: Report) -> None:
    with one_core():
        await calling(report)
    await listing(report)
