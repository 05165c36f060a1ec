"""Boxes, what runs in them, the engine that makes them and the proxy that leads out of them die at any moment: every call
still ends, typed and in time, the next ones are served again, and nothing is left behind."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bascule.config import Limits, RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.config.model.egress import Egress
from bascule.config.model.sandbox import EngineChoice, Sandbox
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.sandbox.egress import proxy
from support.internet import internet
from support.runtime import QUICKLY
from support.servers import argv
from support.victims import VICTIMS, Proxies, Way
from support.waiting import fail_after, until

EACH = 3
"""Deaths of each kind, in `make test`. The tenfold is for `make soak`."""

LANES = (Lane.OPEN, Lane.PROXIED)

CALLS = 20
"""As many at least, of each lane. Again the tenfold there."""

CALLERS = 6
"""Half of them for an agent session that is confidential: what they ask for is outside, and the proxy leads there."""

PAUSE = 0.4
"""Seconds between two deaths, on average: about as long as a start takes, so that some fall into one."""

BETWEEN = 0.02
"""Seconds between two calls of one caller. Without them, a box asks more often than the proxy lets it."""

TIMEOUT = 10.0
LATENESS = 2.0
"""Seconds by which a call may miss its timeout, on a machine with other things to do."""

TIMEOUTS = Timeouts(connect=30, reconnect=30, probe=10, list=20, call=TIMEOUT, close=1)

RECOVERED = 150.0
"""Seconds in which everybody is served again: twice what one may wait for a start that hangs until its time is up."""

EXPECTED = {FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE}

NO_WAY = ("cut off: ", "503: no proxy")
"""What a server in a proxied box hears while the proxy is dead or dies."""

OUTSIDE = "http://allowed.test/"


def arguments(session: AgentSession) -> dict[str, Any]:
    return {"url": OUTSIDE} if session.lane is Lane.PROXIED else {"a": 1}


def kind_of(outcome: Outcome, lane: Lane) -> str:
    """How a call ended, which is one of few ways."""
    if isinstance(outcome, ToolResult):
        assert outcome.lane is lane
        return "good"
    assert outcome.code.startswith("BSC-")
    if outcome.kind is FailureKind.TOOL_ERROR:
        assert lane is Lane.PROXIED
        assert any(each in f"{outcome.message} {outcome.evidence}" for each in NO_WAY), outcome
        return "no way out"
    assert outcome.kind in EXPECTED, outcome
    return str(outcome.kind)


async def calls(session: AgentSession, ended: Counter[tuple[Lane, str]], over: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    while not over.is_set():
        began = loop.time()
        outcome = await session.call("work_act", arguments(session))
        # Of a call that had to wait for a start, the start takes its own time.
        assert loop.time() - began < TIMEOUTS.connect + TIMEOUTS.list + TIMEOUT + LATENESS
        ended[session.lane, kind_of(outcome, session.lane)] += 1
        await asyncio.sleep(BETWEEN)


async def served_again(session: AgentSession) -> None:
    """What had failed by then may be told once more, and a proxy needs some time; then every call is served."""
    async with fail_after(RECOVERED, f"being served in the lane {session.lane}"):
        while isinstance(outcome := await session.call("work_act", arguments(session)), ToolFailure):
            kind_of(outcome, session.lane)
            await asyncio.sleep(0.05)
    for _ in range(3):
        outcome = await session.call("work_act", arguments(session))
        assert isinstance(outcome, ToolResult), outcome


def dies(way: Way, chance: random.Random, ended: Counter[tuple[Lane, str]]) -> bool:
    """Now and then there is none that could die: the one before is not back yet."""
    deadline = time.monotonic() + RECOVERED
    before = dict(ended)
    while not way(chance):
        assert time.monotonic() < deadline, f"nothing came back that could die; calls {before}, then {dict(ended)}"
        time.sleep(0.01)
    return True


def a_server(engine: EngineChoice) -> ServerConfig:
    program, *rest = argv("errands")
    return ServerConfig(
        "work",
        StdioTransport(program, tuple(rest)),
        timeouts=TIMEOUTS,
        restart=QUICKLY,
        limits=Limits(concurrent=None),
        sandbox=Sandbox(engine=engine, memory=128 * 1024**2),
    )


def ended_on(lane: Lane, ended: Counter[tuple[Lane, str]]) -> int:
    return sum(count for (where, _), count in ended.items() if where is lane)


@pytest.mark.long
@pytest.mark.parametrize("engine", VICTIMS)
async def test_whatever_dies_every_call_ends_and_the_next_ones_are_served(
    engine: EngineChoice,
    tmp_path: Path,
    scale: int,
    seed: int,
    tell: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
):
    chance = random.Random(seed)
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BASCULE_SANDBOX", engine)
    # One that dies as often as here would be held off for seconds, and its boxes would hardly be asked anything.
    monkeypatch.setattr(proxy, "LONGEST_BACKOFF", 0.2)
    config = RuntimeConfig(
        {"work": a_server(engine)}, store=str(tmp_path / "store.db"), egress=Egress(allow=("allowed.test",))
    )
    ended, died, over = Counter[tuple[Lane, str]](), Counter[str](), asyncio.Event()
    with internet() as net, VICTIMS[engine]("errands.py") as victims:
        ways = {**victims, "proxy": Proxies(net, monkeypatch).kill}
        async with fail_after(240 + 60 * scale, f"all of it (seed {seed})"), Runtime(config) as runtime:
            sessions = [runtime.session("alice", "s-0"), runtime.session("alice", "s-1")]
            await sessions[1].add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
            callers = [asyncio.create_task(calls(sessions[each % 2], ended, over)) for each in range(CALLERS)]
            for each in list(ways) * EACH * scale:
                await asyncio.sleep(chance.uniform(0, 2 * PAUSE))
                died[each] += await asyncio.to_thread(dies, ways[each], chance, ended)
            # On a busy machine all may have died before much was called.
            await until(lambda: all(ended_on(lane, ended) >= CALLS * scale for lane in LANES), 60 * scale)
            over.set()
            await asyncio.gather(*callers)
            for session in sessions:
                await served_again(session)
    tell(f"seed {seed}: {dict(died)}; {dict(ended)}")
    assert set(died.values()) == {EACH * scale}
    for lane in LANES:
        assert ended[lane, "good"] > 0, f"seed {seed}: {ended}"
