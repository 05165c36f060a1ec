"""Benchmark of many servers behind one gateway: throughput of calls, and memory while the servers are idle."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import psutil

from bench.gateways import ECHO, UNLIMITED, Program, compared, gateway
from bench.http_calls import echo_server
from bench.http_many import NAMES
from bench.result import Goal, Report, Row
from bench.rounds import Taken
from bench.wrk import JSON, META, calling

SERVERS = 100
IDLE = 50
STARTS = 3
"""How often both are started anew. Each time memory lies elsewhere, which makes a gateway some percent faster or slower
than the next."""

ONE = "one server, one tool"
MANY = f"{SERVERS} servers at one host, {SERVERS * len(NAMES)} tools, all called in turn"


async def run(report: Report) -> None:
    taken = await started()
    for _ in range(STARTS - 1):
        taken += await started()
    ratio = Row("the many / the one", taken.ratio(MANY, ONE), "×", Goal("at least", 0.9))
    report.add("tools/call through the gateway, many servers", [*taken.rows("calls/s"), ratio])
    await idle(report)


async def started() -> Taken:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        behind = await enter(echo_server("http_many"))
        servers = {f"s{n}": {"url": f"{behind}/{n}", "era": "new", **UNLIMITED} for n in range(SERVERS)}
        alone = {"s0": {**servers["s0"], "tools": {"allow": [NAMES[0]]}}}
        one, many = await enter(gateway(folder, alone)), await enter(gateway(folder, servers))
        await listed(many, SERVERS * len(NAMES))
        calls = [calling(f"{server}_{tool}") for server in servers for tool in NAMES]
        return await compared(folder, {ONE: (one.url, calls[:1]), MANY: (many.url, calls)})


async def idle(report: Report) -> None:
    """Each of them is started, has been asked for its tools, and then for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        async with gateway(Path(folder), {f"s{number}": ECHO for number in range(IDLE)}) as serving:
            await listed(serving, IDLE)
            main = psutil.Process(serving.pid)
            servants = [process for process in main.children(recursive=True) if process.name().startswith("bascule-")]
            resident = main.memory_info().rss / 1e6
            beside = sum(process.memory_full_info().pss for process in servants) / 1e6
    report.add(
        f"a gateway with {IDLE} idle stdio servers, whose own processes do not count",
        [
            Row("resident memory of the gateway", resident, "MB"),
            Row("of the processes by which it keeps the servers", beside, "MB"),
            Row("both", resident + beside, "MB", Goal("at most", 150)),
        ],
    )


async def listed(serving: Program, count: int) -> None:
    """All tools are there: servers that take their time are waited for."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    headers = {**JSON, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    async with asyncio.timeout(120), aiohttp.ClientSession(headers=headers) as client:
        found = 0
        while found < count:
            async with client.post(serving.url, json=body) as answer:
                found = len((await answer.json())["result"]["tools"])
