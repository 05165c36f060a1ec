"""After all that: a process that has nothing to do does nothing, whether its servers are there or gone."""

import asyncio
import gc
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.core.outcome import ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from chaos.wires import WIRES, Behind, Wire, behind_proxies
from support.faults import Cut, HalfClose, Reset, Stall
from support.runtime import QUICKLY, settled
from support.servers import argv
from support.waiting import fail_after

BURST = 10
"""Faults on each wire, in `make test`. The tenfold is for `make soak`."""

WINDOW = 2.0
"""Seconds of idling."""

SHARE = 0.02
"""Of one processor, at most, with links open to every kind of server."""

UNHURRIED = 0.05
"""The same beside other tests, which make every step cost more."""

PATIENCE = 20.0
LIMITS = Timeouts(connect=PATIENCE, reconnect=PATIENCE, probe=PATIENCE, list=PATIENCE, call=PATIENCE, close=1)
HURRY = 0.2
"""Seconds for a call that something is done to."""


async def burst(wire: Wire, way: Behind, session: AgentSession, chance: random.Random, count: int) -> None:
    """Faults on one wire, one after the other, each followed by a call that works."""
    await works(wire, way, session)
    for _ in range(count):
        kind = chance.choice((Cut, Reset, HalfClose, Stall))
        wire.lay(way.proxy, kind(chance.randrange(400)))
        await wire.call(session, way.config.name, HURRY)
        way.proxy.heal()
        await settled()
        await works(wire, way, session)


async def works(wire: Wire, way: Behind, session: AgentSession) -> None:
    outcome = await wire.call(session, way.config.name, PATIENCE)
    assert isinstance(outcome, ToolResult), outcome


async def bursts_over_stdio(session: AgentSession, count: int) -> None:
    for number in range(count):
        await session.call("child_count", {"number": number, "fault": "exit_done"}, timeout=HURRY)
    outcome = await session.call("child_count", {"number": count})
    assert isinstance(outcome, ToolResult), outcome


async def idled() -> float:
    """The share of a processor that nothing takes."""
    gc.collect()
    before = time.process_time()
    await asyncio.sleep(WINDOW)
    return (time.process_time() - before) / WINDOW


@pytest.mark.long
async def test_after_a_burst_of_faults_an_idle_process_is_idle(
    seed: int, scale: int, tmp_path: Path, tell: Callable[[str], None]
):
    chance = random.Random(seed)
    program, *arguments = argv("counting", tmp_path / "ledger", "stdio")
    async with fail_after(60 * scale, f"the run with seed {seed}"), AsyncExitStack() as stack:
        ways = {wire: (await stack.enter_async_context(behind_proxies(wire, 1, LIMITS, seed)))[0] for wire in WIRES}
        servers = {
            "child": ServerConfig("child", StdioTransport(program, tuple(arguments)), timeouts=LIMITS, restart=QUICKLY)
        }
        for number, (wire, way) in enumerate(ways.items()):
            named = ServerConfig(f"n{number}", way.config.transport, era=wire.era, timeouts=LIMITS, restart=QUICKLY)
            ways[wire] = Behind(named, way.proxy)
            servers[named.name] = named
        runtime = await stack.enter_async_context(Runtime(RuntimeConfig(servers)))
        session = runtime.session("alice", "s-1")
        await asyncio.gather(
            *(burst(wire, way, session, chance, BURST * scale) for wire, way in ways.items()),
            bursts_over_stdio(session, BURST * scale),
        )
        with_servers = await idled()
        for way in ways.values():
            way.proxy.deafen()
            way.proxy.drop()
        without_servers = await idled()
        struck = sum(len(way.proxy.struck) for way in ways.values())
    tell(
        f"seed {seed}: after {struck} faults, {with_servers:.2%} with {len(servers)} links, {without_servers:.2%} without"
    )
    most = SHARE if scale > 1 else UNHURRIED
    assert with_servers < most, f"seed {seed}"
    assert without_servers < most, f"seed {seed}"
