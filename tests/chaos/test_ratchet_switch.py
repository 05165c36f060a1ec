"""A raise in the middle of everything: many calls in flight, many links open, any of them busy. Whatever was under way
ends typed, and the twin goes on under the same names."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from bascule.config import Limits, RuntimeConfig, ServerConfig, StdioTransport, StreamableHttpTransport, Timeouts
from bascule.config.model.transport import Transport
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from servers.echo import answer
from support.http_servers import Asked, error_body, http_reply, raw_server, result_body
from support.light_servers import light_http, light_stdio
from support.racing import TOOL, Lanes, a_moment, end_of, marker, raced, watched
from support.runtime import good, roster_of
from support.servers import argv
from support.waiting import fail_after, until

SECRET = DataSensitivity.SECRET
IN_FLIGHT = 50
LINKS = 50

SWITCHES = 5
"""Ten times as many in `make soak`."""


@asynccontextmanager
async def slow_http(chance: random.Random) -> AsyncGenerator[Transport]:
    """Answers calls at some time, or never."""

    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> None:
        message = asked.message
        if message["method"] == "tools/call":
            await asyncio.sleep(chance.choice([0.0, chance.random() * 0.05, 3600.0]))
        result = answer(message)
        body = result_body(asked.id, result) if result is not None else error_body(asked.id, -32601, "what?")
        writer.write(http_reply(body))

    async with raw_server(reply) as server:
        yield StreamableHttpTransport(server.url)


@asynccontextmanager
async def slow_stdio(chance: random.Random) -> AsyncGenerator[Transport]:
    """Answers calls one after the other, so that most of them wait."""
    program, *arguments = argv("slow_echo", chance.randrange(2**32))
    yield StdioTransport(program, tuple(arguments))


SLOW = {"http": slow_http, "stdio": slow_stdio}


@asynccontextmanager
async def twinned(kind: str, chance: random.Random) -> AsyncGenerator[tuple[Transport, Transport]]:
    """A slow server, and a twin of the other kind, so that it shows by which way bytes go."""
    async with SLOW[kind](chance) as slow, light_http() if kind == "stdio" else light_stdio() as twin:
        yield slow, twin


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("kind", sorted(SLOW))
async def test_fifty_calls_in_flight_end_typed_and_the_twin_goes_on(
    kind: str,
    shared: bool,
    scale: int,
    seed: int,
    tell: Callable[[str], None],
):
    chance, ends = random.Random(seed), Counter[str]()
    async with fail_after(600, "the switches"), twinned(kind, chance) as (slow, twin):
        config = raced(slow, shared=shared, isolated=twin)
        async with Runtime(config) as runtime:
            with watched(slow) as lanes:
                for number in range(SWITCHES * scale):
                    session = runtime.session("alice", f"s-{number}")
                    ended = await switch(session, lanes, chance)
                    assert ended.total() == IN_FLIGHT, f"seed {seed}"
                    assert set(ended) <= {Lane.OPEN, Lane.SEALED, "BSC-408"}, f"seed {seed}: {ended}"
                    ends += ended
    tell(f"seed {seed}: {SWITCHES * scale} switches with {IN_FLIGHT} calls in flight, {dict(ends)}")
    assert ends["BSC-408"] > 0


async def switch(session: AgentSession, lanes: Lanes, chance: random.Random) -> Counter[str]:
    arguments = {"message": marker(session.principal.session_id)}
    tools = await session.tools()
    calls = [asyncio.create_task(session.call(TOOL, arguments)) for _ in range(IN_FLIGHT)]
    # So many have left, and perhaps some are answered.
    left = chance.choice([0, chance.randrange(IN_FLIGHT), IN_FLIGHT])
    await until(lambda: lanes.times(session.principal.session_id) >= left)
    mark = len(lanes.hand_overs)
    await session.add_private_dataset("salaries", SECRET)
    ended = Counter(map(end_of, await asyncio.gather(*calls)))
    after = await asyncio.gather(*(session.call(TOOL, arguments) for _ in range(10)))
    assert [good(outcome).lane for outcome in after] == [Lane.SEALED] * 10
    assert [tool.name for tool in await session.tools()] == [tool.name for tool in tools]
    assert lanes.of(session.principal.session_id, mark) == []
    receipt = session.receipts[-1]
    assert (receipt.twins, receipt.closed[:1]) == ({"work": "declared"}, receipt.closed)
    return ended


def many(transport: Transport, twin: Transport | None = None) -> RuntimeConfig:
    names = [f"work{number}" for number in range(LINKS)]
    timeouts = Timeouts(connect=60, reconnect=60, probe=30, list=30, call=60, close=2)
    return RuntimeConfig(
        {
            name: ServerConfig(name, transport, timeouts=timeouts, limits=Limits(concurrent=None), isolated=twin)
            for name in names
        },
        links_max=3 * LINKS,
    )


async def test_a_raise_with_fifty_links_open_is_fenced_and_receipted(seed: int):
    chance = random.Random(seed)
    async with (
        fail_after(120, "the raise"),
        slow_http(chance) as slow,
        Runtime(many(slow)) as runtime,
        Runtime(many(slow)) as other,
    ):
        session, elsewhere = (each.session("alice", "s-1") for each in (runtime, other))
        await asyncio.gather(session.connect(), elsewhere.connect())
        with watched(slow) as lanes:
            arguments = {"message": marker("s-1")}
            both = [(each, number) for each in (session, elsewhere) for number in range(LINKS)]
            calls = [asyncio.create_task(each.call(f"work{number}_echo", arguments)) for each, number in both]
            await a_moment(chance)
            await session.add_private_dataset("salaries", SECRET)
            mark = len(lanes.hand_overs)
            ends = Counter(map(end_of, await asyncio.gather(*calls)))
            refused = await asyncio.gather(*(each.call(f"work{number}_echo", arguments) for each, number in both))
            assert lanes.opened_after(mark) == [], f"seed {seed}"
        receipt = session.receipts[-1]
        assert elsewhere.sensitivity is SECRET
    assert set(ends) <= {Lane.OPEN, "BSC-408", "BSC-300"}, f"seed {seed}: {ends}"
    assert ends["BSC-408"] > 0, f"seed {seed}: {ends}"
    assert Counter(map(end_of, refused)) == {"BSC-300": 2 * LINKS}
    assert set(receipt.closed) == {f"work{number} (open)" for number in range(LINKS)}
    assert receipt.twins == {f"work{number}": "refused" for number in range(LINKS)}
    assert receipt.fence in {"1 other runtimes acknowledged", "no other runtime had to be waited for"}


async def test_a_runtime_closes_in_the_middle_of_a_raise_with_any_link_busy(seed: int):
    """And the raise is seen to: who comes next finds the level."""
    chance = random.Random(seed)
    async with fail_after(120, "the end"), slow_http(chance) as slow, AsyncExitStack() as stack:
        runtime = Runtime(many(slow))
        await stack.enter_async_context(runtime)
        session = runtime.session("alice", "s-1")
        await session.connect()
        arguments = {"message": marker("s-1")}
        calls = [asyncio.create_task(session.call(f"work{number}_echo", arguments)) for number in range(LINKS)]
        await a_moment(chance)
        raising = asyncio.create_task(session.add_private_dataset("salaries", SECRET))
        await a_moment(chance)
        await stack.aclose()
        await raising
        ends = Counter(map(end_of, await asyncio.gather(*calls)))
        assert set(ends) <= {Lane.OPEN, "BSC-402", "BSC-408", "BSC-300"}, f"seed {seed}: {ends}"
        async with Runtime(many(slow)) as following:
            again = following.session("alice", "s-1")
            await again.begin()
            assert again.sensitivity is SECRET


async def test_a_twin_that_hangs_does_not_keep_a_runtime_from_closing():
    program, *arguments = argv("mute", "waiting for something")
    async with fail_after(120, "the end"), light_http() as server:
        twin = StdioTransport(program, tuple(arguments))
        async with Runtime(raced(server, isolated=twin)) as runtime:
            session = runtime.session("alice", "s-1")
            await session.connect()
            await session.add_private_dataset("salaries", SECRET)
            call = asyncio.create_task(session.call(TOOL, {"message": "hi"}))
            links = roster_of(runtime).links
            await until(lambda: any(link.key.lane is Lane.SEALED for link in links.links()))
        assert end_of(await call) in {"BSC-401", "BSC-402"}
