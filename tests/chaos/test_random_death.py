"""Servers that die at any moment: every call still ends, typed and in time, and nothing is left behind."""

import asyncio
import os
import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.children import children, keepers
from support.servers import argv
from support.waiting import fail_after

CALLS = 100
"""In `make test`. The tenfold is for `make soak`."""

IN_FLIGHT = 16
DEATHS = 0.1
"""How many calls are begun by killing the server."""

KEEPERS = 0.2
"""How many of the deaths are those of a keeper, which its server does not survive."""

PAUSE = 0.1
"""Seconds between the other killings, on average: about as long as a start takes, so that some fall into one."""

TIMEOUT = 5.0
LATENESS = 0.25
"""Seconds by which a call may miss its timeout."""

EXPECTED = {FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE}
"""What a death can look like from outside."""


class Killer:
    """Kills whichever process serves now, wherever it is in its life: starting, listing, or with calls in flight."""

    def __init__(self, chance: random.Random, others: frozenset[int]) -> None:
        self._chance = chance
        self._others = others
        self.killed: set[int] = set()

    def perhaps(self) -> None:
        if self._chance.random() < DEATHS:
            self._kill()

    async def prowl(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0, 2 * PAUSE))
            self._kill()

    def _kill(self) -> None:
        species = keepers if self._chance.random() < KEEPERS else children
        ours = (species() - self._others) - self.killed
        if ours:
            victim = self._chance.choice(sorted(ours))
            self.killed.add(victim)
            with suppress(ProcessLookupError):
                held = os.pidfd_open(victim)
                try:
                    # Found once more while it is held, so that the signal can reach nobody else.
                    if victim in species():
                        signal.pidfd_send_signal(held, signal.SIGKILL)
                finally:
                    os.close(held)


class Caller:
    """Makes calls one after the other, and notes how each ended and how long it took."""

    def __init__(self, session: AgentSession, killer: Killer) -> None:
        self._session = session
        self._killer = killer
        self.outcomes: list[tuple[Outcome, float]] = []

    async def run(self, numbers: list[int]) -> None:
        now = asyncio.get_running_loop().time
        while numbers:
            number = numbers.pop()
            self._killer.perhaps()
            started = now()
            outcome = await self._session.call("victim_act", {"number": number}, timeout=TIMEOUT)
            self.outcomes.append((outcome, now() - started))
            if isinstance(outcome, ToolResult):
                assert outcome.raw["content"][0]["text"] == f'{{"number": {number}}}'


@pytest.fixture
def seed() -> int:
    """Another one each time, unless a run is to be repeated."""
    return int(os.environ.get("BASCULE_SEED") or random.SystemRandom().randrange(2**32))


async def test_every_call_ends_typed_and_in_time_while_the_server_is_killed_at_random(
    seed: int, scale: int, tmp_path: Path
):
    program, *arguments = argv("obeying", tmp_path / "log")
    limits = Timeouts(connect=TIMEOUT, reconnect=TIMEOUT, probe=2, list=TIMEOUT, call=TIMEOUT, close=1)
    victim = ServerConfig("victim", StdioTransport(program, tuple(arguments)), timeouts=limits)
    others = children()
    killer = Killer(random.Random(seed), others)
    numbers = [*range(CALLS * scale)]
    async with (
        fail_after(60 * scale, f"the run with seed {seed}"),
        Runtime(RuntimeConfig({"victim": victim})) as runtime,
    ):
        session = runtime.session("alice", "s-1")
        callers = [Caller(session, killer) for _ in range(IN_FLIGHT)]
        prowling = asyncio.create_task(killer.prowl())
        await asyncio.gather(*(caller.run(numbers) for caller in callers))
        prowling.cancel()
        after = await session.call("victim_act", {"number": -1}, timeout=TIMEOUT)
    check([ended for caller in callers for ended in caller.outcomes], CALLS * scale, f"seed {seed}")
    assert isinstance(after, ToolResult), f"seed {seed}: {after}"
    assert killer.killed, f"seed {seed} killed nobody"
    assert children() == others, f"seed {seed}"


def check(ended: list[tuple[Outcome, float]], count: int, told: str) -> None:
    assert len(ended) == count, told
    kinds = Counter(outcome.kind if isinstance(outcome, ToolFailure) else "result" for outcome, _ in ended)
    assert kinds["result"], f"{told}: {kinds}"
    assert set(kinds) <= {"result", *EXPECTED}, f"{told}: {kinds}"
    late = [seconds for _, seconds in ended if seconds > TIMEOUT + LATENESS]
    assert not late, f"{told}: {late}"
