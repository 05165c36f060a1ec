"""What an idle link costs in our own process, beside the server's."""

import gc
import sys
import tracemalloc

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
    report.add(
        f"{COUNT} idle links to stdio servers",
        [
            Row("objects a link holds", held / COUNT / 1e6, "MB"),
            Row("growth of our process for a link, tracing included", grown / COUNT / 1e6, "MB", Goal("at most", 0.2)),
        ],
    )
