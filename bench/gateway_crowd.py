"""Benchmark of the gateway with a thousand concurrent clients of both eras: every call must succeed."""

import asyncio
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from bench.gateways import gateway
from bench.open_loop import opened, written
from bench.result import Goal, Report, Row
from bench.wrk import calling, calling_in_a_session

CLIENTS = 1_000
CALLS = 10


async def run(report: Report) -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = (await stack.enter_async_context(gateway(folder))).url
        ended = Counter[str]()
        began = time.perf_counter()
        await asyncio.gather(*(client(url, number, ended) for number in range(CLIENTS)))
        took = time.perf_counter() - began
    good = ended.pop("good", 0)
    rows = [
        Row("calls a second, of all", good / took, "calls/s"),
        Row("good answers", good, "calls", Goal("at least", CLIENTS * CALLS)),
        Row("errors", sum(ended.values()), "errors", Goal("at most", 0)),
    ]
    report.add(f"{CLIENTS} clients at once, of both eras, {CALLS} calls each: {dict(ended)}", rows)


async def client(url: str, number: int, ended: Counter[str]) -> None:
    """One with a connection of its own; every second one has a session, as the old era wants it."""
    try:
        request = calling("echo_echo") if number % 2 else await calling_in_a_session(url, "echo_echo")
        line = await opened(url)
        for turn in range(CALLS):
            answer = await line.ask(written(url, request, turn + 1))
            ended["good" if b'"hello"' in answer else "bad"] += 1
        await line.close()
    except (OSError, RuntimeError, EOFError) as error:
        ended[type(error).__name__] += 1
