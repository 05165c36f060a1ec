"""Benchmark of concurrent start-up: twenty servers that take two seconds each must be ready at once, not one after the
other."""

import sys
import time
from pathlib import Path

from bascule import Runtime
from bascule.config import ServerConfig, StdioTransport
from bench.result import Goal, Report, Row

COUNT = 20
SLEEPY = str(Path(__file__).parent / "sleepy.py")


async def run(report: Report) -> None:
    transport = StdioTransport(command=sys.executable, args=(SLEEPY,))
    names = [f"sleepy{number}" for number in range(COUNT)]
    async with Runtime.from_servers({n: ServerConfig(name=n, transport=transport) for n in names}) as runtime:
        started = time.perf_counter()
        reports = await runtime.session("bench", "starting").connect()
        seconds = time.perf_counter() - started
    assert all(server.error is None and server.tools == 1 for server in reports), reports
    report.add(f"{COUNT} servers that sleep 2 s", [Row("all ready", seconds, "s", Goal("at most", 3))])
