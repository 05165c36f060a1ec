"""Benchmark of a raise with many links open: durable, fenced and with a receipt, beside another runtime that is alive
or was killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from statistics import median

from bascule import Runtime
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.core.sensitivity import DataSensitivity
from bench.result import Goal, Report, Row
from bench.stdio_peers import SERVER
from bench.stores import stores

LINKS, TIMES = 50, 5

OTHER = """
import asyncio, sys
from bascule import Runtime
from bascule.config import RuntimeConfig

async def live():
    async with Runtime(RuntimeConfig({}, store=sys.argv[1])) as runtime:
        await runtime.session("bench", "other").begin()
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(live())
"""


async def run(report: Report) -> None:
    with stores() as found:
        for engine, address in found.items():
            rows = [
                Row("alone", await _raised(address), "s"),
                Row("beside a runtime that lives", await _beside(address, kill=False), "s", Goal("at most", 1)),
                Row("beside one that was killed", await _beside(address, kill=True), "s", Goal("at most", 2)),
            ]
            report.add(f"a raise with {LINKS} links open, levels in {engine}", rows)


async def _beside(address: str, *, kill: bool) -> float:
    async with _other(address) as process:
        if kill:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait)
        # A dead one is waited for once, and then no more.
        return await _raised(address, 1 if kill else TIMES)


@asynccontextmanager
async def _other(address: str) -> AsyncGenerator["subprocess.Popen[str]"]:
    argv = [sys.executable, "-c", OTHER, address]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        yield process
    finally:
        process.kill()
        process.wait()


async def _raised(address: str, times: int = TIMES) -> float:
    transport = StdioTransport(command=sys.executable, args=(SERVER,))
    servers = {f"s{number}": ServerConfig(name=f"s{number}", transport=transport) for number in range(LINKS)}
    taken: list[float] = []
    async with Runtime(RuntimeConfig(servers, store=address)) as runtime:
        for _ in range(times):
            session = runtime.session("bench", os.urandom(8).hex())
            await session.tools()
            started = time.perf_counter()
            await session.add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
            taken.append(time.perf_counter() - started)
            assert len(session.receipts[0].closed) == LINKS
    return median(taken)
