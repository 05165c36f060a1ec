"""Interleaved benchmark rounds: every peer is measured in every round, so that a slow minute of the machine affects all
alike."""

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from statistics import median

from bench.result import Row

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


class Taken:
    """What every peer took, round by round."""

    def __init__(self, rounds: Mapping[str, list[float]]) -> None:
        self._rounds = rounds

    @property
    def names(self) -> list[str]:
        return list(self._rounds)

    def middle(self, name: str) -> float:
        return median(self._rounds[name])

    def ratio(self, name: str, peer: str) -> float:
        """The median of the rounds' ratios: within one round both met the same machine."""
        return median(mine / theirs for mine, theirs in zip(self._rounds[name], self._rounds[peer], strict=True))

    def __add__(self, more: "Taken") -> "Taken":
        """All rounds of the same peers, of two occasions."""
        return Taken({name: [*rounds, *more._rounds[name]] for name, rounds in self._rounds.items()})

    def rows(self, unit: str, factor: float = 1) -> list[Row]:
        return [Row(name, self.middle(name) * factor, unit) for name in self._rounds]


async def interleaved(peers: Mapping[str, Call], measure: Callable[[Call], Awaitable[float]], rounds: int) -> Taken:
    """Every peer in every round. A first, unmeasured round warms everyone up."""
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for turn in range(rounds + 1):
        for name, call in peers.items():
            gc.collect()
            value = await measure(call)
            if turn:
                taken[name].append(value)
    return Taken(taken)


@contextmanager
def one_core() -> Generator[None]:
    """Keep us, and whoever we start, on one core. A call that hops between idle cores mostly measures how long these
    take to wake up, which is the machine's and not the client's."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
