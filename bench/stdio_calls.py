"""Benchmark of a governed stdio call, beside its peers."""

from collections.abc import AsyncGenerator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager

from bench import stdio_peers
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved, one_core, sequential, throughput

IN_FLIGHT = 64


def _one_by_one(call: Call) -> Awaitable[float]:
    return sequential(call, 300)


def _many(call: Call) -> Awaitable[float]:
    return throughput(call, 6_400, IN_FLIGHT)


@asynccontextmanager
async def all_peers() -> AsyncGenerator[dict[str, Call]]:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        yield {
            "bascule": await enter(stdio_peers.bascule()),
            "sdk": await enter(stdio_peers.sdk()),
            "fastmcp": await enter(stdio_peers.fastmcp()),
            "bare pipe": await enter(stdio_peers.bare_pipe()),
        }


async def one_by_one(report: Report, title: str, goal: Goal | None) -> None:
    async with all_peers() as peers:
        taken = await interleaved(peers, _one_by_one, 11)
    ratios = [
        Row("bascule / sdk", taken.ratio("bascule", "sdk"), "×", goal),
        Row("bascule / bare pipe", taken.ratio("bascule", "bare pipe"), "×"),
    ]
    report.add(title, [*taken.rows("µs", 1e6), *ratios])


async def run(report: Report) -> None:
    with one_core():
        await one_by_one(report, "stdio, one call after the other, on one core", Goal("at most", 0.4))
    await one_by_one(report, "stdio, one call after the other, across cores", None)
    async with all_peers() as peers:
        del peers["bare pipe"]  # it matches no replies, so it can have only one call in flight
        taken = await interleaved(peers, _many, 5)
    ratios = [
        Row("bascule / sdk", taken.ratio("bascule", "sdk"), "×", Goal("at least", 8)),
        Row("bascule / fastmcp", taken.ratio("bascule", "fastmcp"), "×"),
    ]
    report.add(f"stdio, {IN_FLIGHT} in flight", [*taken.rows("calls/s"), *ratios])
