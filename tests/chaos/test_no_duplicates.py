"""A tool that must not be carried out twice, while everything between us and it fails: the server's own ledger tells."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bascule.config import RuntimeConfig, ServerConfig, Timeouts
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.failures import KINDS
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.counted import Carrier, Counted, counted
from support.faults import Cut, HalfClose, Reset, Stall, Sudden
from support.runtime import QUICKLY
from support.waiting import fail_after

FAILURES: dict[Carrier, int] = {"stdio": 30, "json": 20, "events": 20, "sse": 20, "ws": 30}
"""Injected in `make test`. The tenfold is for `make soak`."""

IN_FLIGHT = 4
TIMEOUT = 0.5
"""Seconds for a call. Many of them wait so long."""

PATIENCE = 20.0
"""Seconds for everything else, so that nothing but what is injected goes wrong on a busy machine."""

HEALTHY = 0.3
"""How many calls have nothing done to them."""

DEATHS = ("die_unread", "die_undone", "die_done", "die_replying", "exit_done")
MISDEEDS = ("hang_undone", "hang_done", "late", "twice", "close")
"""What the server can be told to do with a call: see `servers/counting.py`."""

DEADLY = 0.25
"""How many misdeeds are deaths. Each takes all calls in flight with it, and leaves no time for anything else."""

REQUEST, REPLY = 500, 300
"""Bytes that either has, about."""

EXPECTED = {FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.PROTOCOL_ERROR}
"""What all this can look like from outside."""

NEVER_SENT = frozenset(error.code for error in KINDS if not getattr(error, "sent", False))
"""Codes with which a failure says that the request surely never left us."""


class Trouble:
    """What is done to calls: to some by the server itself, to some by the wire."""

    def __init__(self, carrier: Carrier, server: Counted, chance: random.Random) -> None:
        self._proxy = server.proxy
        # A WebSocket hides what is asked.
        self._readable = carrier != "ws"
        self._chance = chance
        self.by_server = Counter[str]()

    @property
    def injected(self) -> int:
        return self.by_server.total() + (len(self._proxy.struck) if self._proxy is not None else 0)

    def order(self, number: int) -> dict[str, Any]:
        """The arguments of a call, with trouble for it laid out."""
        order: dict[str, Any] = {"number": number, "marker": f"<{number}>"}
        if self._chance.random() < HEALTHY:
            return order
        if self._proxy is not None and self._chance.random() < 0.5:
            self._wound(order["marker"].encode())
            return order
        misdeeds = DEATHS if self._chance.random() < DEADLY else MISDEEDS
        return {
            **order,
            "fault": self._chance.choice(misdeeds),
            "late": self._chance.uniform(0.2, 1.8) * TIMEOUT,
        }

    def note(self, order: dict[str, Any], outcome: Outcome) -> None:
        """Trouble that never reached the server was none."""
        if "fault" in order and not (isinstance(outcome, ToolFailure) and outcome.code in NEVER_SENT):
            self.by_server[order["fault"]] += 1

    def end(self) -> None:
        if self._proxy is not None:
            self._proxy.heal()

    def _wound(self, marker: bytes) -> None:
        assert self._proxy is not None
        fault = self._a_wound()
        if self._readable and self._chance.random() < 0.7:
            self._proxy.when_asked(marker, fault)
        else:
            self._proxy.now(fault)
        if isinstance(fault, Stall):
            asyncio.get_running_loop().call_later(self._chance.uniform(0.2, 1.5) * TIMEOUT, self._proxy.heal)

    def _a_wound(self) -> Sudden:
        kind = self._chance.choice((Cut, Cut, Reset, Reset, HalfClose, Stall))
        if self._chance.random() < 0.5:
            return kind(self._chance.randrange(REQUEST), "up")
        return kind(self._chance.randrange(REPLY), "down")


class Caller:
    """Makes calls until there was trouble enough, from many tasks at once."""

    def __init__(self, session: AgentSession, server: Counted, trouble: Trouble) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self._session = session
        self._server = server
        self._trouble = trouble
        self._numbers = count()

    async def run(self, failures: int) -> None:
        while self._trouble.injected < failures:
            await self._server.alive.wait()
            number = next(self._numbers)
            order = self._trouble.order(number)
            self.outcomes[number] = outcome = await self._call(order)
            self._trouble.note(order, outcome)

    async def recover(self) -> None:
        """The first calls may still find what the trouble has left: a server that dies of the next message, say."""
        self._trouble.end()
        outcome: Outcome | None = None
        while not isinstance(outcome, ToolResult):
            await self._server.alive.wait()
            number = next(self._numbers)
            self.outcomes[number] = outcome = await self._call({"number": number})

    async def _call(self, order: dict[str, Any]) -> Outcome:
        return await self._session.call("it_count", order, timeout=TIMEOUT)


@pytest.mark.parametrize("carrier", FAILURES)
async def test_no_call_is_carried_out_twice_whatever_fails(
    carrier: Carrier, seed: int, scale: int, tmp_path: Path, tell: Callable[[str], None]
):
    chance = random.Random(f"{seed}/{carrier}")
    limits = Timeouts(connect=PATIENCE, reconnect=PATIENCE, probe=PATIENCE, list=PATIENCE, call=TIMEOUT, close=1)
    async with fail_after(60 * scale, f"the run with seed {seed}"), counted(carrier, tmp_path, seed) as server:
        config = ServerConfig("it", server.transport, timeouts=limits, restart=QUICKLY)
        async with Runtime(RuntimeConfig({"it": config})) as runtime:
            trouble = Trouble(carrier, server, chance)
            caller = Caller(runtime.session("alice", "s-1"), server, trouble)
            await asyncio.gather(*(caller.run(FAILURES[carrier] * scale) for _ in range(IN_FLIGHT)))
            async with fail_after(PATIENCE, f"recovering with seed {seed}"):
                await caller.recover()
    told = f"seed {seed}, {carrier}"
    in_doubt = check(caller.outcomes, server.ledger.counts(), told, tell)
    assert in_doubt or scale == 1, f"{told}: sending a call again was never a danger"
    struck = Counter(type(fault).__name__ for fault in server.proxy.struck) if server.proxy is not None else {}
    tell(f"{told}: {trouble.injected} injected: {dict(trouble.by_server)} {dict(struck)}")


def check(outcomes: dict[int, Outcome], counts: Counter[int], told: str, tell: Callable[[str], None]) -> set[int]:
    """The ledger against what was reported. Gives the calls that failed, and were carried out."""
    good = {number for number, outcome in outcomes.items() if isinstance(outcome, ToolResult)}
    failed = {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, ToolFailure)}
    denied = {number for number, failure in failed.items() if failure.code in NEVER_SENT}
    done_nevertheless = {number for number in failed if counts[number]}
    tell(
        f"{told}: {len(outcomes)} calls, {len(good)} results, {len(done_nevertheless)} failed and yet carried out, "
        f"{len(denied)} never sent, {Counter(failure.code for failure in failed.values())}"
    )
    strange = [failure for failure in failed.values() if failure.kind not in EXPECTED]
    assert not strange, f"{told}: {strange}"
    assert counts.keys() <= outcomes.keys(), f"{told}: {counts.keys() - outcomes.keys()} were never asked for"
    twice = {number: outcomes[number] for number, times in counts.items() if times > 1}
    assert not twice, f"{told}: carried out more than once: {twice}"
    assert good <= counts.keys(), f"{told}: reported as done, and not done: {good - counts.keys()}"
    lied = {number: failed[number] for number in denied & counts.keys()}
    assert not lied, f"{told}: reported as never sent, and carried out: {lied}"
    return done_nevertheless
