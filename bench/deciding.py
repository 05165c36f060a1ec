"""Benchmark of governance per call: level, lane, lease, permit and policy decision, on each store engine."""

# pyright: reportPrivateUsage=false
# One step of a call is measured alone, and it is nobody else's to take.

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median

from bascule import Runtime
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.core.call import ToolCall
from bascule.runtime.call_state import Trail
from bascule.runtime.requests.tool_call import TOOL_CALL, prepare
from bascule.runtime.session import AgentSession
from bench.result import Goal, Report, Row
from bench.stdio_peers import SERVER
from bench.stores import stores

COUNT, ROUNDS = 20_000, 7


async def run(report: Report) -> None:
    with stores() as found:
        for engine, address in found.items():
            transport = StdioTransport(command=sys.executable, args=(SERVER,))
            config = RuntimeConfig({"echo": ServerConfig(name="echo", transport=transport)}, store=address)
            async with Runtime(config) as runtime:
                session = runtime.session("bench", "deciding")
                await session.call("echo_echo", {"message": "x"})
                rows = [
                    Row("level, lane, lease, permit, decision", await _microseconds(session), "µs", Goal("at most", 10))
                ]
                report.add(f"what every call is asked, levels in {engine}", rows)


async def _microseconds(session: AgentSession) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        # A round leaves the loop no time for anything else, and the lease has to be renewed.
        await asyncio.sleep(0.5)
        taken.append(await _timed(_deciding(session)))
    return median(taken) * 1e6


async def _timed(step: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    for _ in range(COUNT):
        await step()
    return (time.perf_counter() - started) / COUNT


def _deciding(session: AgentSession) -> Callable[[], Awaitable[None]]:
    """From the permit to the link in hand, as every call goes through it, and the two looks at the write."""
    executor, standing = session._executor, session._standing
    call = ToolCall("echo_echo", {"message": "x"})
    entry = standing.known(call.name)
    assert entry is not None
    prepared, trail = prepare(entry, call), Trail(call)
    lease = executor._lease

    async def decide() -> None:
        way = executor._at_hand(standing, TOOL_CALL, entry.spec, prepared, trail)
        assert way is not None
        link, permit = way
        standing.unread(entry.spec)
        assert permit.valid()
        assert lease.valid()
        executor._links.give_back(link)
        trail.steps.marks.clear()

    return decide
