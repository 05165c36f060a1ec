"""Benchmark of gateway throughput: calls to a stdio server, beside a bare ASGI echo, other proxies and the SDK's own
server."""

import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from bench.gateways import compared, gateway, peer
from bench.http_calls import echo_server
from bench.mcp_hub import hub
from bench.result import Goal, Report, Row
from bench.rounds import Taken
from bench.wrk import CONNECTIONS, calling, calling_in_a_session

OURS, BARE, PROXY, HUB = "bascule serve", "bare ASGI echo", "FastMCP's proxy", "mcp-hub's REST, which governs nothing"
SDK = {"the SDK's server, answering itself": "sdk", "the same, told to answer in JSON": "sdk-json"}
"""What else is asked. The SDK's server has nothing behind it, and governs nothing."""

NEW_ERA = {BARE: 0.3, PROXY: 25, "the SDK's server, answering itself": 8, HUB: 1}
OLD_ERA = {PROXY: 10}
"""How many times as fast ours has to be, at least."""


async def run(report: Report) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours, bare = (await enter(gateway(folder))).url, await enter(echo_server())
        others = {name: (await enter(peer(kind))).url for name, kind in {PROXY: "proxy", **SDK}.items()}
        echo = [calling("echo")]
        new = {BARE: (bare, echo), OURS: (ours, [calling("echo_echo")]), **{n: (u, echo) for n, u in others.items()}}
        ungoverned = await enter(hub(folder))
        if ungoverned is not None:
            new[HUB] = ungoverned
        report.add(
            f"tools/call through the gateway, new era, {CONNECTIONS} connections",
            rows(await compared(folder, new), NEW_ERA),
        )
        old = {
            OURS: (ours, [await calling_in_a_session(ours, "echo_echo")]),
            PROXY: (others[PROXY], [await calling_in_a_session(others[PROXY], "echo")]),
        }
        report.add(
            f"tools/call through the gateway, old era, {CONNECTIONS} connections",
            rows(await compared(folder, old), OLD_ERA),
        )


def rows(taken: Taken, goals: Mapping[str, float]) -> list[Row]:
    bounds = {name: Goal("at least", goals[name]) if name in goals else None for name in taken.names if name != OURS}
    ratios = [Row(f"{OURS} / {name}", taken.ratio(OURS, name), "×", goal) for name, goal in bounds.items()]
    return [*taken.rows("calls/s"), *ratios]
