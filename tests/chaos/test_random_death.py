"""Servers that die at any moment: every call still ends, typed and in time, and nothing is left behind."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.transports.jsonrpc import MessageDispatcher
from bascule.upstream.link import Link
from bascule.upstream.pool import Pool
from bascule.wire.jsonrpc import Message
from support.children import beneath, children, keepers
from support.runtime import QUICKLY, roster_of
from support.servers import argv
from support.waiting import fail_after

CALLS, DEATHS = 100, 10
"""At least, in `make test`. The tenfold is for `make soak`."""

IN_FLIGHT = 16
DEADLY = 0.1
"""How many calls are begun by killing the server."""

KEEPERS = 0.2
"""How many of the deaths are those of a keeper, which its server does not survive."""

PAUSE = 0.1
"""Seconds between the other killings, on average: about as long as a start takes, so that some fall into one."""

TIMEOUT = 5.0
LATENESS = 0.25
"""Seconds by which a call may miss its timeout."""

NOTICED = 0.1
"""Seconds from a death to the failure of all calls in flight, for 99 of 100 deaths, where nothing else is going on."""

UNHURRIED = 2.0
"""The same on a machine with other things to do."""

EXPECTED = {FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE}
"""What a death can look like from outside."""


class Killer:
    """Kills whichever process serves now, wherever it is in its life: starting, listing, or with calls in flight."""

    def __init__(self, chance: random.Random, others: frozenset[int]) -> None:
        self._chance = chance
        self._others = others
        self.killed: set[int] = set()
        self.noticed: list[float] = []
        """Seconds that it took each time until the last call in flight had failed."""

    def perhaps(self, links: Pool) -> None:
        if self._chance.random() < DEADLY:
            self._kill(links)

    async def prowl(self, links: Pool) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0, 2 * PAUSE))
            self._kill(links)

    def _kill(self, links: Pool) -> None:
        species = keepers if self._chance.random() < KEEPERS else children
        ours = (species() - self._others) - self.killed
        if ours:
            victim = self._chance.choice(sorted(ours))
            self.killed.add(victim)
            in_flight = [reply for link in links.links() if link.usable for reply in replies_awaited(link)]
            with suppress(ProcessLookupError):
                held = os.pidfd_open(victim)
                try:
                    # Found once more while it is held, so that the signal can reach nobody else.
                    if victim in species():
                        signal.pidfd_send_signal(held, signal.SIGKILL)
                        self._watch(in_flight)
                finally:
                    os.close(held)

    def _watch(self, in_flight: list[asyncio.Future[Message]]) -> None:
        now = asyncio.get_running_loop().time
        killed, waiting = now(), set(in_flight)

        def ended(reply: asyncio.Future[Message]) -> None:
            waiting.discard(reply)
            if not waiting:
                self.noticed.append(now() - killed)

        for reply in in_flight:
            reply.add_done_callback(ended)


def replies_awaited(link: Link) -> list[asyncio.Future[Message]]:
    assert isinstance(link._dispatcher, MessageDispatcher)
    return [pending.future for pending in link._dispatcher._pending.values() if pending.awaited]


class Caller:
    """Makes calls one after the other, and notes how each ended and how long it took."""

    def __init__(self, runtime: Runtime, killer: Killer) -> None:
        self._session = runtime.session("alice", "s-1")
        self._links = roster_of(runtime).links
        self._killer = killer
        self.outcomes: list[tuple[Outcome, float]] = []

    async def run(self, numbers: "count[int]", calls: int, deaths: int) -> None:
        now = asyncio.get_running_loop().time
        while (number := next(numbers)) < calls or len(self._killer.killed) < deaths:
            self._killer.perhaps(self._links)
            started = now()
            outcome = await self._session.call("victim_act", {"number": number}, timeout=TIMEOUT)
            self.outcomes.append((outcome, now() - started))
            if isinstance(outcome, ToolResult):
                assert outcome.raw["content"][0]["text"] == f'{{"number": {number}}}'


async def test_every_call_ends_typed_and_in_time_while_the_server_is_killed_at_random(
    seed: int, scale: int, tmp_path: Path, tell: Callable[[str], None]
):
    program, *arguments = argv("obeying", tmp_path / "log")
    limits = Timeouts(connect=TIMEOUT, reconnect=TIMEOUT, probe=2, list=TIMEOUT, call=TIMEOUT, close=1)
    victim = ServerConfig("victim", StdioTransport(program, tuple(arguments)), timeouts=limits, restart=QUICKLY)
    others = children()
    # Keepers of what other tests share among them, too.
    killer = Killer(random.Random(seed), beneath())
    numbers = count()
    async with (
        fail_after(60 * scale, f"the run with seed {seed}"),
        Runtime(RuntimeConfig({"victim": victim})) as runtime,
    ):
        callers = [Caller(runtime, killer) for _ in range(IN_FLIGHT)]
        prowling = asyncio.create_task(killer.prowl(roster_of(runtime).links))
        await asyncio.gather(*(caller.run(numbers, CALLS * scale, DEATHS * scale) for caller in callers))
        prowling.cancel()
        # The last death may not have been noticed yet, and the call after that is the first to be safe.
        await runtime.session("alice", "s-1").call("victim_act", {"number": -1}, timeout=TIMEOUT)
        after = await runtime.session("alice", "s-1").call("victim_act", {"number": -2}, timeout=TIMEOUT)
    kinds = check([ended for caller in callers for ended in caller.outcomes], CALLS * scale, f"seed {seed}")
    assert isinstance(after, ToolResult), f"seed {seed}: {after}"
    assert children() == others, f"seed {seed}"
    noticed = sorted(killer.noticed) or [0.0]
    late = noticed[int(len(noticed) * 0.99)]
    tell(
        f"seed {seed}: {kinds.total()} calls, {len(killer.killed)} deaths, {len(killer.noticed)} of them with calls in flight, "
        f"which failed within {noticed[len(noticed) // 2] * 1000:.1f} ms (median), {late * 1000:.1f} ms (p99)"
    )
    assert late <= (NOTICED if scale > 1 else UNHURRIED), f"seed {seed}: {noticed}"


def check(ended: list[tuple[Outcome, float]], calls: int, told: str) -> Counter[str]:
    assert len(ended) >= calls, told
    kinds = Counter(outcome.kind if isinstance(outcome, ToolFailure) else "result" for outcome, _ in ended)
    assert kinds["result"], f"{told}: {kinds}"
    assert set(kinds) <= {"result", *EXPECTED}, f"{told}: {kinds}"
    late = [seconds for _, seconds in ended if seconds > TIMEOUT + LATENESS]
    assert not late, f"{told}: {late}"
    return kinds
