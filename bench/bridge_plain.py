"""Benchmark of the plain bridge: a synchronous call beside the same call awaited, and a hop to another thread and
back."""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from bascule import AgentSession, Runtime
from bascule.bridges.plain import MCPToolGateway
from bascule.config import Limits, ServerConfig, StdioTransport
from bascule.runtime.sync.portal import Portal
from bascule.runtime.sync.runtime import SyncRuntime
from bench import stdio_peers
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, one_core, sequential
from bench.stdio_peers import ARGUMENTS, SERVER

OBEYING = str(Path(SERVER).with_name("obeying.py"))
MANY = 1_000


def _one_by_one(call: Call) -> Awaitable[float]:
    return sequential(call, 300)


def _server(name: str, *args: str) -> ServerConfig:
    transport = StdioTransport(command=sys.executable, args=args)
    return ServerConfig(name=name, transport=transport, limits=Limits(concurrent=None))


async def nothing() -> None: ...


async def _within(runtime: Runtime) -> tuple[AgentSession, asyncio.AbstractEventLoop]:
    return runtime.session("bench", "plain"), asyncio.get_running_loop()


async def calls(report: Report, title: str, goal: Goal | None) -> None:
    shared = SyncRuntime(Runtime.from_servers({"echo": _server("echo", SERVER)}))
    with Portal() as portal, MCPToolGateway(shared, user_id="bench", session_id="plain") as gateway:
        session, loop = shared.run(_within)

        async def hop() -> None:
            portal.run(nothing())

        async def handed_over() -> None:
            assert asyncio.run_coroutine_threadsafe(session.call("echo_echo", ARGUMENTS), loop).result().ok

        async def through() -> None:
            assert not gateway.call("echo", ARGUMENTS)["isError"]

        async with stdio_peers.bascule() as direct:

            async def both() -> None:
                # In turns, as a call through the gateway has both: neither finds the other's caches cold.
                await direct()
                portal.run(nothing())

            peers = {
                "awaited": direct,
                "a hop": hop,
                "one and the other": both,
                "awaited from another thread": handed_over,
                "gateway": through,
            }
            taken = await interleaved(peers, _one_by_one, 11)
    ratios = [
        Row("gateway / one and the other", taken.ratio("gateway", "one and the other"), "×", goal),
        Row("gateway / awaited from another thread", taken.ratio("gateway", "awaited from another thread"), "×"),
    ]
    report.add(title, [*taken.rows("µs", 1e6), *ratios])


def listing(report: Report) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}
    tools = [{"name": f"tool_{number}", "description": "One.", "inputSchema": schema} for number in range(MANY)]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "tools.json")
        listed.write_text(json.dumps(tools))
        with MCPToolGateway([_server("many", OBEYING, str(Path(folder, "log")), f"@{listed}")]) as gateway:
            began = time.perf_counter()
            assert len(gateway.list_tools()) == MANY
            took = time.perf_counter() - began
    report.add("plain gateway, tools listed", [Row(f"{MANY} tools", took, "s", Goal("at most", 0.5))])


async def run(report: Report) -> None:
    with one_core():
        await calls(report, "plain gateway, one call after the other, on one core", Goal("at most", 1.2))
    await calls(report, "plain gateway, one call after the other, across cores", None)
    listing(report)
