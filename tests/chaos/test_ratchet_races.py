"""Raises that race against calls in one process: from the step in which a raise begins, the open lane gets nothing."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from bascule.config.model.transport import Transport
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.light_servers import light_http, light_stdio
from support.racing import CALLERS, TYPED, Lanes, a_moment, calls_of, raced, watched
from support.waiting import fail_after

pytestmark = pytest.mark.usefixtures("long_leases")

SECRET = DataSensitivity.SECRET
WAYS = {"stdio": light_stdio, "http": light_http}

RAISES = 100
"""Ten calls race against each. Ten times as many in `make soak`."""

AT_ONCE = 10
"""Links that are opened side by side."""


@pytest.fixture(params=sorted(WAYS))
async def transport(request: pytest.FixtureRequest) -> AsyncGenerator[Transport]:
    async with WAYS[request.param]() as made:
        yield made


@asynccontextmanager
async def calling(
    session: AgentSession, chance: random.Random, size: int = CALLERS
) -> AsyncGenerator["list[asyncio.Task[Counter[str]]]"]:
    """Callers for the length of the block, who have ended by themselves at the end of it."""
    callers = [asyncio.create_task(calls_of(session, chance)) for _ in range(size)]
    try:
        yield callers
    finally:
        for caller in callers:
            caller.cancel()
        await asyncio.wait(callers)


async def race(session: AgentSession, lanes: Lanes, chance: random.Random) -> tuple[int, Counter[str]]:
    """Raise while others call. From which piece on nothing may be handed over, and how the calls have ended."""
    async with calling(session, chance) as callers:
        await a_moment(chance)
        mark = len(lanes.hand_overs)
        # Up to its first wait this is one step with the line above.
        await session.add_private_dataset("salaries", SECRET)
        ends = await asyncio.gather(*callers)
    return mark, sum(ends, Counter[str]())


async def test_the_open_lane_gets_nothing_of_an_agent_session_once_it_is_raised(
    transport: Transport, store: str | None, scale: int, seed: int, tell: Callable[[str], None]
):
    chance, ends = random.Random(seed), Counter[str]()
    marks: dict[str, int] = {}
    async with fail_after(600, "the races"), Runtime(raced(transport, store=store)) as runtime:
        with watched(transport) as lanes:
            for batch in range(RAISES * scale // AT_ONCE):
                sessions = [runtime.session("alice", f"s-{batch}-{number}") for number in range(AT_ONCE)]
                await asyncio.gather(*(session.connect() for session in sessions))
                for session in sessions:
                    mark, ended = await race(session, lanes, chance)
                    # Its link is its own, and the others' are at rest: whatever is said there is of this agent session.
                    assert lanes.opened_after(mark) == [], f"seed {seed}"
                    assert set(ended) <= {Lane.OPEN, *TYPED}, f"seed {seed}: {ended}"
                    marks[session.principal.session_id] = mark
                    ends += ended
        assert [name for name, mark in marks.items() if lanes.of(name, mark)] == [], f"seed {seed}"
    tell(f"seed {seed}: {len(marks)} raises against {CALLERS} calls each, {len(lanes.hand_overs)} pieces, {dict(ends)}")
    # Else nothing was raced against.
    assert ends[Lane.OPEN] > 0
    assert ends["BSC-408"] > 0
    assert ends["BSC-300"] == len(marks) * CALLERS


async def test_a_shared_link_carries_nothing_of_who_is_raised_and_all_of_the_others(
    transport: Transport, store: str | None, scale: int, seed: int, tell: Callable[[str], None]
):
    chance, ends = random.Random(seed), Counter[str]()
    marks: dict[str, int] = {}
    async with fail_after(600, "the races"), Runtime(raced(transport, shared=True, store=store)) as runtime:
        bystander = runtime.session("bob", "bystander")
        await bystander.connect()
        with watched(transport) as lanes:
            async with calling(bystander, chance, 2) as unharmed:
                for number in range(RAISES * scale):
                    session = runtime.session("alice", f"s-{number}")
                    await session.connect()
                    mark, ended = await race(session, lanes, chance)
                    assert lanes.of(f"s-{number}", mark) == [], f"seed {seed}"
                    assert set(ended) <= {Lane.OPEN, *TYPED}, f"seed {seed}: {ended}"
                    assert not any(caller.done() for caller in unharmed), f"seed {seed}"
                    marks[f"s-{number}"] = mark
                    ends += ended
                await bystander.add_private_dataset("salaries", SECRET)
                theirs = sum(await asyncio.gather(*unharmed), Counter[str]())
        assert [name for name, mark in marks.items() if lanes.of(name, mark)] == [], f"seed {seed}"
    tell(f"seed {seed}: {len(marks)} raises against {CALLERS} calls each, {dict(ends)}; beside them {dict(theirs)}")
    assert ends[Lane.OPEN] > 0
    assert ends["BSC-408"] > 0
    assert ends["BSC-300"] == len(marks) * CALLERS
    # Only their own raise has cut anything of theirs.
    assert theirs["BSC-408"] <= 2, f"seed {seed}: {theirs}"
    assert theirs[Lane.OPEN] > len(marks)
