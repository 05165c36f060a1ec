"""Interleaved rounds: every peer takes its turn in every round, so that a slow minute of the machine hits all alike."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median

Call = Callable[[], Awaitable[object]]


async def sequential(call: Call, count: int) -> float:
    """Seconds a call, one after the other."""
    started = time.perf_counter()
    for _ in range(count):
        await call()
    return (time.perf_counter() - started) / count


async def throughput(call: Call, count: int, in_flight: int) -> float:
    """Calls a second with this many in flight."""

    async def worker() -> None:
        for _ in range(count // in_flight):
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return count // in_flight * in_flight / (time.perf_counter() - started)


async def interleaved(
    peers: Mapping[str, Call], measure: Callable[[Call], Awaitable[float]], rounds: int
) -> dict[str, float]:
    """The median of each peer's rounds. A first, unmeasured round warms everyone up."""
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for turn in range(rounds + 1):
        for name, call in peers.items():
            gc.collect()
            value = await measure(call)
            if turn:
                taken[name].append(value)
    return {name: median(values) for name, values in taken.items()}
