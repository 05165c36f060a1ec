"""Two hundred servers, twenty of which hang: the others do not wait for them."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import cycle

import pytest

from bascule.config import RuntimeConfig, ServerConfig, Timeouts
from bascule.core.errors import ConnectFailed
from bascule.core.outcome import ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.session import AgentSession
from bascule.upstream.state import LinkState
from support.light_servers import hung_http, hung_stdio, hung_ws, light_http, light_stdio, light_ws
from support.waiting import fail_after

GOOD, HUNG = 18, 2
"""In `make test`. The tenfold is for `make soak`."""

LIMIT = 10.0
"""Seconds for a server to start. Long enough for healthy ones on a busy machine, and those that hang take all of it."""

SLACK = 5.0
"""Seconds by which the last may miss it on a busy machine."""

KINDS = (light_stdio, *[light_http] * 4, light_ws, *[light_http] * 4)
"""Of ten healthy ones. Processes are few: each takes this machine a while to start."""

HUNG_KINDS = (hung_ws, hung_http, hung_stdio)
STARTING, MANY_STARTING = 1, 4
"""How many may start at once: fewer than hang, so that any of these that kept its place would be in the way."""


async def configured(stack: AsyncExitStack, scale: int) -> dict[str, ServerConfig]:
    """Those that hang come first, where they are most in the way."""
    limits = Timeouts(connect=LIMIT, reconnect=LIMIT, probe=3, list=LIMIT, call=LIMIT, close=1)
    kinds = [kind for _, kind in zip(range(HUNG * scale), cycle(HUNG_KINDS), strict=False)]
    kinds += [kind for _, kind in zip(range(GOOD * scale), cycle(KINDS), strict=False)]
    names = [f"h{number}" for number in range(HUNG * scale)] + [f"g{number}" for number in range(GOOD * scale)]
    return {
        name: ServerConfig(name, await stack.enter_async_context(kind()), timeouts=limits)
        for name, kind in zip(names, kinds, strict=True)
    }


async def calls(session: AgentSession, server: str) -> None:
    outcome = await session.call(f"{server}_echo", {"message": server})
    assert isinstance(outcome, ToolResult), f"{server}: {outcome}"
    assert outcome.raw["content"][0]["text"] == server


@pytest.mark.long
async def test_servers_that_hang_keep_nobody_waiting_and_are_given_up_by_their_limit(
    scale: int, tell: Callable[[str], None]
):
    now = asyncio.get_running_loop().time
    async with fail_after(120, "two hundred servers"), AsyncExitStack() as stack:
        servers = await configured(stack, scale)
        starting = STARTING if scale == 1 else MANY_STARTING
        runtime = await stack.enter_async_context(Runtime(RuntimeConfig(servers, links_starting=starting)))
        session = runtime.session("alice", "s-1")
        began = now()

        async def connect() -> list[tuple[ServerReport, float]]:
            return [(report, now() - began) async for report in session.connecting()]

        connecting = asyncio.create_task(connect())
        await calls(session, "g1")
        first = now() - began
        arrived = await connecting
        usable = [seconds for report, seconds in arrived if report.state is LinkState.READY and report.tools == 1]
        given_up = [seconds for report, seconds in arrived if isinstance(report.error, ConnectFailed)]
        tell(
            f"{len(servers)} servers: the first tool after {first:.2f} s, {len(usable)} servers usable after "
            f"{max(usable):.2f} s, {len(given_up)} given up between {min(given_up):.2f} and {max(given_up):.2f} s"
        )
        assert len(usable) == GOOD * scale, [report for report, _ in arrived if report.state is not LinkState.READY]
        assert len(given_up) == HUNG * scale
        assert all(report.name.startswith("h") for report, _ in arrived[len(usable) :]), "one waited for another"
        assert first < LIMIT / 2
        assert max(given_up) < LIMIT + SLACK
        await asyncio.gather(*(calls(session, name) for name in servers if name.startswith("g")))
