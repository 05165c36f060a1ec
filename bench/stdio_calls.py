"""A governed stdio call beside its peers."""

from collections.abc import Awaitable
from contextlib import AsyncExitStack

from bench import stdio_peers
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, sequential, throughput

IN_FLIGHT = 64


def _one_by_one(call: Call) -> Awaitable[float]:
    return sequential(call, 500)


def _many(call: Call) -> Awaitable[float]:
    return throughput(call, 6_400, IN_FLIGHT)


async def run(report: Report) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        governed = {"bascule": await enter(stdio_peers.bascule())}
        peers = {**governed, "sdk": await enter(stdio_peers.sdk()), "fastmcp": await enter(stdio_peers.fastmcp())}
        floor = {"bare pipe": await enter(stdio_peers.bare_pipe())}
        one = await interleaved({**peers, **floor}, _one_by_one, 7)
        many = await interleaved(peers, _many, 5)
    report.add(
        "stdio, one call after the other",
        [
            *(Row(name, seconds * 1e6, "µs") for name, seconds in one.items()),
            Row("bascule / sdk", one["bascule"] / one["sdk"], "×", Goal("at most", 0.4)),
            Row("bascule / bare pipe", one["bascule"] / one["bare pipe"], "×"),
        ],
    )
    report.add(
        f"stdio, {IN_FLIGHT} in flight",
        [
            *(Row(name, rate, "calls/s") for name, rate in many.items()),
            Row("bascule / sdk", many["bascule"] / many["sdk"], "×", Goal("at least", 8)),
            Row("bascule / fastmcp", many["bascule"] / many["fastmcp"], "×"),
        ],
    )
