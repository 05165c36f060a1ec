"""Benchmark of the memory of an idle link, the server's own process excluded: in the runtime's process, and in the
keeper."""

import gc
import sys
import tracemalloc
from statistics import mean

import psutil

from bascule import Runtime
from bascule.config import ServerConfig, StdioTransport
from bench.result import Goal, Report, Row
from bench.stdio_peers import SERVER

COUNT = 100


async def run(report: Report) -> None:
    transport = StdioTransport(command=sys.executable, args=(SERVER,))
    async with Runtime.from_servers({"echo": ServerConfig(name="echo", transport=transport)}) as runtime:
        # The first link pays for imports and for the catalog, which all others share.
        await runtime.session("bench", "first").tools()
        gc.collect()
        resident = psutil.Process().memory_info().rss
        tracemalloc.start()
        for number in range(COUNT):
            await runtime.session("bench", str(number)).tools()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        grown = psutil.Process().memory_info().rss - resident
        keepers = [keeper.memory_full_info() for keeper in named("bascule-keeper")]
        nursery = sum(process.memory_full_info().pss for process in named("bascule-nursery"))
    report.add(
        f"{COUNT} idle links to stdio servers",
        [
            Row("objects a link holds", held / COUNT / 1e6, "MB"),
            Row("growth of our process for a link, tracing included", grown / COUNT / 1e6, "MB", Goal("at most", 0.2)),
            Row("memory of a keeper's own", mean(keeper.uss for keeper in keepers) / 1e6, "MB", Goal("at most", 1)),
            Row("the same and its share of what keepers have in common", mean(k.pss for k in keepers) / 1e6, "MB"),
            Row("the nursery, once for all links", nursery / 1e6, "MB"),
        ],
    )


def named(name: str) -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if process.name() == name]
