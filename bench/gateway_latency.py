"""Benchmark of the latency that the gateway adds at a steady rate: one server, called through the gateway and
directly."""

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from bench.gateways import ROUNDS, UNLIMITED, gateway
from bench.http_calls import echo_server
from bench.open_loop import OpenLoop
from bench.result import Goal, Report, Row
from bench.wrk import calling

RATE = 300
SECONDS = 3


def at(share: float, times: list[float]) -> float:
    """In milliseconds."""
    return times[int(share * len(times))] * 1000


async def run(report: Report) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bare = await enter(echo_server())
        ours = (await enter(gateway(folder, {"echo": {"url": bare, "era": "new", **UNLIMITED}}))).url
        direct = OpenLoop(bare, calling("echo"))
        through = OpenLoop(ours, calling("echo_echo"))
        taken = [(await direct.asked(RATE, SECONDS), await through.asked(RATE, SECONDS)) for _ in range(ROUNDS + 1)]
    # The first round warms everybody up.
    rounds = taken[1:]
    rows = list[Row]()
    for share, goal in ((0.5, Goal("at most", 1)), (0.99, None)):
        name = f"p{share * 100:.0f}"
        rows += [
            Row(f"{name}, the server itself", median(at(share, one) for one, _ in rounds), "ms"),
            Row(f"{name}, through the gateway", median(at(share, other) for _, other in rounds), "ms"),
            Row(f"{name}, added", median(at(share, other) - at(share, one) for one, other in rounds), "ms", goal),
        ]
    report.add(f"tools/call of an HTTP server at {RATE} requests/s", rows)
