"""Wires that are slow, dripping, stalled or half closed: the right result, or a typed failure in time."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count

import pytest

from bascule.config import RuntimeConfig, Timeouts
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from chaos.wires import WIRES, Behind, Wire, behind_proxies
from support.faults import HalfClose, Latency, Refuse, Slices, Stall, Way
from support.runtime import settled
from support.waiting import fail_after

AT_ONCE, ROUNDS = 4, 2
"""Ways to the server on which the same is done side by side, and how often, in `make test`."""

MANY_AT_ONCE, MANY_ROUNDS = 20, 4
"""The tenfold, for `make soak`: mostly side by side, since a stalled call takes its time."""

PATIENCE = 20.0
"""Seconds for what is to succeed on a busy machine."""

TIMEOUT = 1.0
"""Seconds for what is to run out of time."""

SLACK = 2.0
"""Seconds by which that may be missed on a busy machine."""

LIMITS = Timeouts(connect=PATIENCE, reconnect=PATIENCE, probe=PATIENCE, list=PATIENCE, call=PATIENCE, close=1)

FAR = {"up": 600, "down": 300}
"""A fault happens after this many bytes at most: within a request or a reply, or a little after."""

every_wire = pytest.mark.parametrize("wire", WIRES, ids=str)


class Walker:
    """Calls over one way, and knows what each call must give."""

    def __init__(self, wire: Wire, way: Behind, session: AgentSession, chance: random.Random, told: str) -> None:
        self.wire = wire
        self.proxy = way.proxy
        self.chance = chance
        self.told = told
        self._name = way.config.name
        self._session = session
        self._numbers = count(1)

    async def call(self, timeout: float = PATIENCE) -> Outcome:
        """One call, in time, and with the right result if with any."""
        now = asyncio.get_running_loop().time
        number, started = next(self._numbers), now()
        outcome = await self.wire.call(self._session, self._name, timeout, number)
        took = now() - started
        assert took < timeout + SLACK, f"{self.told}: {took:.2f} s: {outcome}"
        if isinstance(outcome, ToolResult):
            assert self.wire.answers(outcome, number), f"{self.told}: {outcome}"
        return outcome

    async def works(self) -> None:
        outcome = await self.call()
        assert isinstance(outcome, ToolResult), f"{self.told}: {outcome}"

    async def meets(self, kind: type[Stall | HalfClose], timeout: float) -> Outcome:
        """What becomes of a call over a faulty wire. The next one, over the healed wire, must be fine."""
        # What carries only events gets nothing from us.
        way: Way = self.chance.choice(("down",) if self.wire.opened_by else ("up", "down"))
        fault = kind(self.chance.randrange(FAR[way]), way)
        self.wire.lay(self.proxy, fault)
        outcome = await self.call(timeout)
        self.proxy.heal()
        await settled()
        await self.works()
        return outcome


def rounds(scale: int) -> int:
    return ROUNDS if scale == 1 else MANY_ROUNDS


@asynccontextmanager
async def walkers(wire: Wire, seed: int, scale: int, limits: Timeouts = LIMITS) -> AsyncGenerator[list[Walker]]:
    told = f"seed {seed}"
    async with (
        fail_after(60 * scale, f"the run with {told}"),
        behind_proxies(wire, AT_ONCE if scale == 1 else MANY_AT_ONCE, limits, seed) as ways,
        Runtime(RuntimeConfig({way.config.name: way.config for way in ways}, links_starting=AT_ONCE)) as runtime,
    ):
        session = runtime.session("alice", "s-1")
        chances = [random.Random(f"{seed}/{way.config.name}") for way in ways]
        yield [Walker(wire, way, session, chance, told) for way, chance in zip(ways, chances, strict=True)]


@every_wire
@pytest.mark.long
async def test_a_wire_that_is_slow_at_times_gives_the_right_results(wire: Wire, seed: int, scale: int):
    async def walk(walker: Walker) -> None:
        walker.proxy.always(Latency(0.01, jitter=0.05))
        for _ in range(rounds(scale)):
            await asyncio.gather(*(walker.works() for _ in range(4)))

    async with walkers(wire, seed, scale) as ways:
        await asyncio.gather(*map(walk, ways))


@every_wire
@pytest.mark.long
async def test_a_wire_that_gives_one_byte_at_a_time_gives_the_right_results(wire: Wire, seed: int, scale: int):
    async def walk(walker: Walker) -> None:
        walker.proxy.always(Slices(1))
        for _ in range(rounds(scale)):
            await walker.works()

    async with walkers(wire, seed, scale) as ways:
        await asyncio.gather(*map(walk, ways))


@every_wire
async def test_a_wire_that_stalls_costs_a_call_its_time_and_the_next_is_fine(
    wire: Wire, seed: int, scale: int, tell: Callable[[str], None]
):
    kinds = Counter[str]()

    async def walk(walker: Walker) -> None:
        await walker.works()
        for _ in range(rounds(scale)):
            outcome = await walker.meets(Stall, TIMEOUT)
            kinds[outcome.kind if isinstance(outcome, ToolFailure) else "result"] += 1
            if isinstance(outcome, ToolFailure):
                assert outcome.kind is FailureKind.TIMEOUT, f"{walker.told}: {outcome}"

    async with walkers(wire, seed, scale) as ways:
        await asyncio.gather(*map(walk, ways))
        struck = sum(len(walker.proxy.struck) for walker in ways)
    tell(f"seed {seed}, {wire}: {struck} stalls, {dict(kinds)}")
    assert struck, f"seed {seed}: nothing stalled"


@every_wire
async def test_a_wire_of_which_one_way_ends_is_seen_to_end(
    wire: Wire, seed: int, scale: int, tell: Callable[[str], None]
):
    kinds = Counter[str]()

    async def walk(walker: Walker) -> None:
        await walker.works()
        for _ in range(rounds(scale)):
            outcome = await walker.meets(HalfClose, PATIENCE)
            kinds[outcome.kind if isinstance(outcome, ToolFailure) else "result"] += 1
            if isinstance(outcome, ToolFailure):
                expected = {FailureKind.CONNECTION_ERROR, FailureKind.PROTOCOL_ERROR}
                assert outcome.kind in expected, f"{walker.told}: {outcome}"

    async with walkers(wire, seed, scale) as ways:
        await asyncio.gather(*map(walk, ways))
        struck = sum(len(walker.proxy.struck) for walker in ways)
    tell(f"seed {seed}, {wire}: {struck} half closed, {dict(kinds)}")
    assert struck, f"seed {seed}: nothing was closed"


@every_wire
async def test_a_wire_that_stalls_from_the_start_fails_in_time_and_works_once_it_is_healed(
    wire: Wire, seed: int, scale: int
):
    async def walk(walker: Walker) -> None:
        walker.proxy.always(Stall(walker.chance.randrange(50)))
        outcome = await walker.call(TIMEOUT * 3)
        assert isinstance(outcome, ToolFailure), f"{walker.told}: {outcome}"
        assert outcome.kind is FailureKind.CONNECTION_ERROR, f"{walker.told}: {outcome}"
        walker.proxy.heal()
        await walker.works()

    impatient = Timeouts(connect=TIMEOUT, reconnect=PATIENCE, probe=TIMEOUT, list=TIMEOUT, call=PATIENCE, close=1)
    async with walkers(wire, seed, scale, impatient) as ways:
        await asyncio.gather(*map(walk, ways))


@every_wire
async def test_a_wire_on_which_nobody_answers_fails_at_once_and_works_once_somebody_does(
    wire: Wire, seed: int, scale: int
):
    async def walk(walker: Walker) -> None:
        await walker.works()
        for _ in range(rounds(scale)):
            if walker.chance.random() < 0.5:
                walker.proxy.always(Refuse())
            else:
                walker.proxy.deafen()
            walker.proxy.drop()
            await settled()
            outcome = await walker.call()
            assert isinstance(outcome, ToolFailure), f"{walker.told}: {outcome}"
            assert outcome.kind is FailureKind.CONNECTION_ERROR, f"{walker.told}: {outcome}"
            walker.proxy.heal()
            walker.proxy.deafen()
            await walker.proxy.listen()
            await walker.works()

    async with walkers(wire, seed, scale) as ways:
        await asyncio.gather(*map(walk, ways))
