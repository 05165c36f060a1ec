"""Raises while calls wait for a link: once there could be one, none is opened on the lane that is closed by then."""

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

from bascule.core.outcome import Outcome
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.racing import end_of, raced, watched
from support.runtime import QUICKLY, Arrived, calls_in, good, obeying, roster_of, settled
from support.servers import pids
from support.waiting import fail_after, until

SECRET = DataSensitivity.SECRET
WAITING = 10


def calls_of(session: AgentSession) -> "list[asyncio.Task[Outcome]]":
    return [asyncio.create_task(session.call("work_act", {})) for _ in range(WAITING)]


async def refused(calls: "list[asyncio.Task[Outcome]]") -> None:
    assert {end_of(outcome) for outcome in await asyncio.gather(*calls)} == {"BSC-300"}


async def test_who_waits_for_room_when_it_is_raised_opens_nothing(tmp_path: Path, store: str | None):
    log, arrived = tmp_path / "log", Arrived()
    transport = obeying(log).transport
    config = replace(raced(transport, store=store), links_max=1)
    async with fail_after(60, "the raise"), Runtime(config) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        good(await alice.call("work_act", {}))
        his = asyncio.create_task(bob.call("work_act", {"doze": True, "progress": [1]}, on_progress=arrived))
        await arrived.wait()
        hers = calls_of(alice)
        await until(lambda: bool(roster_of(runtime).links._granted))
        await alice.add_private_dataset("salaries", SECRET)
        with watched(transport) as lanes:
            os.kill(pids(log)[-1], signal.SIGUSR1)
            good(await his)
            # Now there is room for another.
            await refused(hers)
            await settled()
            assert lanes.hand_overs == []

    assert len(pids(log)) == 2
    assert len(calls_in(log)) == 2


async def test_who_waits_for_a_link_to_open_when_it_is_raised_is_decided_anew(tmp_path: Path, store: str | None):
    log = tmp_path / "log"
    transport = obeying(log).transport
    async with fail_after(60, "the raise"), Runtime(raced(transport, store=store, restart=QUICKLY)) as runtime:
        alice = runtime.session("alice", "s-1")
        assert end_of(await alice.call("work_act", {"exit": 3})) == "BSC-402"
        hers = calls_of(alice)
        await settled()
        with watched(transport) as lanes:
            await alice.add_private_dataset("salaries", SECRET)
            await refused(hers)
            assert lanes.hand_overs == []

    assert len(calls_in(log)) == 1


async def test_who_waits_for_a_link_to_open_when_it_is_raised_is_served_by_the_twin(tmp_path: Path, store: str | None):
    log, twin = tmp_path / "log", tmp_path / "twin"
    config = raced(obeying(log).transport, store=store, restart=QUICKLY, isolated=obeying(twin).transport)
    async with fail_after(60, "the raise"), Runtime(config) as runtime:
        alice = runtime.session("alice", "s-1")
        assert end_of(await alice.call("work_act", {"exit": 3})) == "BSC-402"
        hers = calls_of(alice)
        await settled()
        await alice.add_private_dataset("salaries", SECRET)
        assert {good(outcome).lane for outcome in await asyncio.gather(*hers)} == {Lane.SEALED}

    assert len(calls_in(log)) == 1
    assert len(calls_in(twin)) == WAITING
