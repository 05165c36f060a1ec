"""Raises while a server does not read: what is half written is never completed, and what waits behind it never leaves."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.config import StreamableHttpTransport
from bascule.config.model.transport import Transport
from bascule.core.outcome import Outcome
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.half_deaf import SIZE, HalfDeaf, half_deaf
from support.racing import TYPED, Lanes, a_moment, end_of, marker, raced, watched
from support.runtime import BIG, Arrived, calls_in, good, obeying, settled
from support.servers import pids
from support.waiting import fail_after, until

pytestmark = pytest.mark.usefixtures("long_leases")

SECRET = DataSensitivity.SECRET

RAISES = 10
"""Ten times as many in `make soak`."""

WAITING = 100
"""Calls behind what fills a pipe. Each of them races against the raise."""


def transport_of(log: Path) -> Transport:
    return obeying(log).transport


def asked(session: AgentSession, tool: str, **arguments: object) -> "asyncio.Task[Outcome]":
    named = {"message": marker(session.principal.session_id), **arguments}
    return asyncio.create_task(session.call(tool, named))


async def dozing(session: AgentSession) -> "asyncio.Task[Outcome]":
    """A call after which the server reads nothing more."""
    arrived = Arrived()
    order = {"message": marker(session.principal.session_id), "doze": True, "progress": [1]}
    call = asyncio.create_task(session.call("work_act", order, on_progress=arrived))
    await arrived.wait()
    return call


async def raise_behind(session: AgentSession, lanes: Lanes, calls: "list[asyncio.Task[Outcome]]") -> Counter[str]:
    """Raise. How the calls that waited have ended; what was handed over since is in nobody's name."""
    mark = len(lanes.hand_overs)
    await session.add_private_dataset("salaries", SECRET)
    ends = Counter(map(end_of, await asyncio.gather(*calls)))
    assert lanes.of(session.principal.session_id, mark) == []
    return ends


async def test_a_full_pipe_gets_nothing_more_from_the_raise_on(
    tmp_path: Path, scale: int, seed: int, tell: Callable[[str], None]
):
    chance, ends = random.Random(seed), Counter[str]()
    log = tmp_path / "log"
    transport = transport_of(log)
    async with fail_after(300, "the races"), Runtime(raced(transport)) as runtime:
        with watched(transport) as lanes:
            for number in range(RAISES * scale):
                session = runtime.session("alice", f"s-{number}")
                pid = int(good(await session.call("work_act", {"pid": True})).text)
                calls = [await dozing(session), asked(session, "work_act", pad=BIG)]
                calls += [asked(session, "work_act") for _ in range(WAITING)]
                await settled()
                await a_moment(chance)
                mark = len(lanes.hand_overs)
                ended = await raise_behind(session, lanes, calls)
                # It lives for a moment yet, and reads whatever still comes.
                os.kill(pid, signal.SIGUSR1)
                assert lanes.opened_after(mark) == [], f"seed {seed}"
                assert set(ended) <= TYPED, f"seed {seed}: {ended}"
                ends += ended
    tell(f"seed {seed}: {RAISES * scale} raises behind full pipes, {dict(ends)}")
    # The one that the server works on, and the one that is half written; none of the others has left.
    assert ends["BSC-408"] >= 2 * RAISES * scale
    assert BIG not in log.read_text()


async def test_behind_somebody_elses_half_message_nothing_of_who_is_raised_follows(tmp_path: Path, scale: int):
    log = tmp_path / "log"
    transport = transport_of(log)
    async with fail_after(300, "the races"), Runtime(raced(transport, shared=True)) as runtime:
        bob = runtime.session("bob", "bystander")
        with watched(transport) as lanes:
            for number in range(RAISES * scale):
                alice = runtime.session("alice", f"s-{number}")
                await alice.connect()
                his = [await dozing(bob), asked(bob, "work_act", pad=BIG)]
                await asyncio.sleep(0)
                hers = [asked(alice, "work_act") for _ in range(WAITING)]
                await asyncio.sleep(0)
                ends = await raise_behind(alice, lanes, hers)
                assert ends == {"BSC-300": WAITING}
                os.kill(pids(log)[-1], signal.SIGUSR1)
                assert [good(outcome).lane for outcome in await asyncio.gather(*his)] == [Lane.OPEN] * 2
    assert len(pids(log)) == 1
    heard = [call["arguments"]["message"] for call in calls_in(log)]
    assert heard == [marker("bystander")] * 2 * RAISES * scale


async def test_a_shared_pipe_with_half_a_message_of_who_is_raised_is_given_up_and_nobody_else_is_harmed(
    tmp_path: Path, scale: int
):
    log = tmp_path / "log"
    transport = transport_of(log)
    async with fail_after(300, "the races"), Runtime(raced(transport, shared=True)) as runtime:
        bob = runtime.session("bob", "bystander")
        await bob.connect()
        with watched(transport) as lanes:
            for number in range(RAISES * scale):
                alice = runtime.session("alice", f"s-{number}")
                hers = [await dozing(alice), asked(alice, "work_act", pad=BIG)]
                await asyncio.sleep(0)
                his = [asked(bob, "work_act") for _ in range(WAITING)]
                await asyncio.sleep(0)
                ends = await raise_behind(alice, lanes, hers)
                assert ends == {"BSC-408": 2}
                # They had not left, so they are sent again, on another link.
                assert [good(outcome).lane for outcome in await asyncio.gather(*his)] == [Lane.OPEN] * WAITING
    assert [call["arguments"] for call in calls_in(log) if "pad" in call["arguments"]] == []


def long(session: AgentSession) -> "asyncio.Task[Outcome]":
    """A call whose every piece says whose it is."""
    name = marker(session.principal.session_id)
    return asked(session, "work_echo", message=name * (SIZE // len(name) + 1))


def bodies(server: HalfDeaf, session: AgentSession) -> int:
    """Long ones that were read whole."""
    name = marker(session.principal.session_id).encode()
    return sum(name in body and len(body) > SIZE for body in server.heard)


@pytest.mark.long
async def test_a_full_socket_gets_nothing_more_from_the_raise_on_and_those_of_others_go_on(scale: int):
    async with fail_after(300, "the races"), half_deaf() as server:
        transport = StreamableHttpTransport(server.url)
        async with Runtime(raced(transport, shared=True)) as runtime:
            bob = runtime.session("bob", "bystander")
            await bob.connect()
            with watched(transport) as lanes:
                for number in range(RAISES * scale):
                    alice = runtime.session("alice", f"s-{number}")
                    await alice.connect()
                    server.listening.clear()
                    hers, his = [long(alice), long(alice)], long(bob)
                    await until(lambda: server.stuck == 3)
                    ends = await raise_behind(alice, lanes, hers)
                    assert ends == {"BSC-408": 2}
                    server.listening.set()
                    assert good(await his).lane is Lane.OPEN
                    assert bodies(server, alice) == 0
                    lanes.hand_overs.clear()
            assert bodies(server, bob) == RAISES * scale
