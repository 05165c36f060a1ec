"""Containers, what runs in them, and the engine itself die at any moment: every call still ends, typed and in time, the
next ones are served again, and nothing is left behind."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from bascule.config import Limits, RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.config.sandbox import Sandbox
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.docker import DockerEngine, as_found, engine_of_its_own
from support.runtime import QUICKLY
from support.servers import argv
from support.waiting import fail_after

DEATHS = 9
"""In `make test`: of each kind a third. The tenfold is for `make soak`."""

CALLERS = 6
PAUSE = 0.4
"""Seconds between two deaths, on average: about as long as a start takes, so that some fall into one."""

TIMEOUT = 10.0
LATENESS = 2.0
"""Seconds by which a call may miss its timeout, on a machine with other things to do."""

TIMEOUTS = Timeouts(connect=30, reconnect=30, probe=10, list=20, call=TIMEOUT, close=1)

EXPECTED = {FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE}


def containers(engine: DockerEngine) -> list[str]:
    """Of ours. None, while the engine does not answer."""
    listed = engine.tried("ps", "--all", "--quiet", "--filter=label=dev.bascule.owner")
    return listed.stdout.split()


def kill_a_container(engine: DockerEngine, chance: random.Random) -> bool:
    found = containers(engine)
    return bool(found) and engine.tried("kill", chance.choice(found)).returncode == 0


def kill_a_run(engine: DockerEngine, chance: random.Random) -> bool:
    """The server itself, which is not the container's own process."""
    for name in chance.sample(found := containers(engine), len(found)):
        listed = engine.tried("top", name, "-eo", "pid,args").stdout.splitlines()[1:]
        servers = [int(line.split()[0]) for line in listed if "obeying" in line and "entry.py" not in line]
        for pid in servers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
    return False


def crash_the_engine(engine: DockerEngine, chance: random.Random) -> bool:
    engine.until_up()
    engine.crash()
    engine.until_up()
    return True


WAYS: tuple[Callable[[DockerEngine, random.Random], bool], ...] = (kill_a_container, kill_a_run, crash_the_engine)


async def calls(session: AgentSession, ended: Counter[str], over: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    while not over.is_set():
        began = loop.time()
        outcome = await session.call("work_act", {"a": 1})
        # Of a call that had to wait for a start, the start takes its own time.
        assert loop.time() - began < TIMEOUTS.connect + TIMEOUTS.list + TIMEOUT + LATENESS
        if isinstance(outcome, ToolFailure):
            assert outcome.kind in EXPECTED, outcome
            assert outcome.code.startswith("BSC-")
            await asyncio.sleep(0.05)
        ended["good" if isinstance(outcome, ToolResult) else str(outcome.kind)] += 1


async def test_whatever_dies_every_call_ends_and_the_next_ones_are_served(
    tmp_path: Path, scale: int, seed: int, tell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    chance = random.Random(seed)
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BASCULE_SANDBOX", "docker")
    program, *rest = argv("obeying", "/dev/null")
    server = ServerConfig(
        "work",
        StdioTransport(program, tuple(rest)),
        timeouts=TIMEOUTS,
        restart=QUICKLY,
        limits=Limits(concurrent=None),
        sandbox=Sandbox(engine="docker", memory=128 * 1024**2),
    )
    ended, died, over = Counter[str](), Counter[str](), asyncio.Event()
    with engine_of_its_own() as engine, as_found(engine):
        config = RuntimeConfig({"work": server}, store=str(tmp_path / "store.db"))
        async with fail_after(120 + 60 * scale, f"all of it (seed {seed})"), Runtime(config) as runtime:
            sessions = [runtime.session("alice", f"s-{number % 2}") for number in range(CALLERS)]
            callers = [asyncio.create_task(calls(session, ended, over)) for session in sessions]
            for number in range(DEATHS * scale):
                await asyncio.sleep(chance.uniform(0, 2 * PAUSE))
                way = WAYS[number % len(WAYS)]
                died[way.__name__] += await asyncio.to_thread(way, engine, chance)
            over.set()
            await asyncio.gather(*callers)
            # What had failed by then may be told once more; what comes after it is served.
            last = [await sessions[0].call("work_act", {"a": number}) for number in range(3)]
            assert isinstance(last[-1], ToolResult), f"seed {seed}: {last}"
        assert containers(engine) == [], f"seed {seed}"
    tell(f"{dict(died)}; {dict(ended)}")
    assert died["crash_the_engine"] == DEATHS * scale // 3
    assert ended["good"] > 0, f"seed {seed}"
