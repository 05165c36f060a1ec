"""Workers of a gateway under load: killed, followed by new ones, left without their supervisor."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from support.processes import ended
from support.scenarios import entry
from support.servers import pids, received
from support.waiting import fail_after, until
from support.workers import Load, call, ending, fleet, twice


@pytest.fixture
def store(store_address: str | None) -> dict[str, Any]:
    return {} if store_address is None else {"store": store_address}


def work(folder: Path, **keys: Any) -> dict[str, Any]:
    return {"work": entry("obeying", folder / "log", **keys)}


@pytest.mark.long
async def test_workers_are_followed_by_new_ones_and_no_call_fails(
    tmp_path: Path, store: dict[str, Any], scale: int, tell: Callable[[str], None]
):
    async with fleet(tmp_path, work(tmp_path), **store) as gateway:
        load = Load(gateway.url)
        async with load.running():
            for _ in range(scale):
                await load.goes_on()
                old = gateway.workers()
                assert len(old) == 2
                gateway.start_anew()
                await until(lambda old=old: not any(each.is_running() for each in old), 90)
                await load.goes_on()
                assert len(gateway.workers()) == 2
        tell(f"{dict(load.ends)}, the slowest in {max(load.seconds):.2f} s")
        assert load.ends.keys() == {"ok"}, (load.ends, gateway.lines)
    assert twice(tmp_path / "log") == []


@pytest.mark.long
async def test_a_limit_by_the_minute_holds_over_all_workers(tmp_path: Path, store: dict[str, Any]):
    """Of a server without state too, whose calls without a limit any of the workers serves."""
    servers = {
        "counted": entry("obeying", tmp_path / "log", stateless=True, limits={"per_minute": 6}),
        "free": entry("obeying", tmp_path / "free", stateless=True),
    }
    async with fleet(tmp_path, servers, **store) as gateway:
        # Each on a connection of its own, which any of the workers may take.
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as http, fail_after(60, "calls by both workers"):
            for user in ("alice", "bob"):
                asked = [call(http, gateway.url, "counted_act", user=user) for _ in range(24)]
                ends = Counter(ending(*answer) for answer in await asyncio.gather(*asked))
                assert ends["ok"] == 6, ends
            served = set[str]()
            while len(served) < 2:
                _, answer = await call(http, gateway.url, "free_act", {"pid": 1})
                served.add(answer["result"]["content"][0]["text"])
    assert len([each for each in received(tmp_path / "log") if each.get("method") == "tools/call"]) == 12


@pytest.mark.long
async def test_a_worker_that_is_killed_takes_only_its_own_calls_with_it(
    tmp_path: Path, store: dict[str, Any], scale: int, seed: int, tell: Callable[[str], None]
):
    chance = random.Random(seed)
    async with fleet(tmp_path, work(tmp_path), workers=3, **store) as gateway:
        load = Load(gateway.url)
        async with load.running():
            for _ in range(2 * scale):
                await load.goes_on()
                victim = chance.choice(gateway.workers())
                kin = victim.children(recursive=True)
                victim.send_signal(signal.SIGKILL)
                async with fail_after(30, f"the end of what a killed worker had started (seed {seed})"):
                    for child in kin:
                        await ended(child.pid)
                await until(lambda: len(gateway.workers()) == 3, 60)
                await load.goes_on()
        tell(f"seed {seed}: {dict(load.ends)}, the slowest in {max(load.seconds):.2f} s")
        # A connection to the worker itself is cut with it; whatever another worker answers is typed.
        assert load.ends.keys() <= {"ok", "cut", "connection_error", "503"}, (seed, load.ends, gateway.lines)
        assert load.ends["503"] == 0, f"seed {seed}: what is taken over at once is not waited for: {load.ends}"
        assert any("another one is started" in line for line in gateway.lines)
    assert twice(tmp_path / "log") == [], f"seed {seed}"


@pytest.mark.long
async def test_a_worker_that_is_stopped_is_given_up_in_time(tmp_path: Path, store: dict[str, Any]):
    """It does not answer and does not end: nobody can know but by its silence."""
    async with fleet(tmp_path, work(tmp_path), **store) as gateway:
        load = Load(gateway.url, clients=4)
        async with load.running():
            await load.goes_on()
            frozen, other = gateway.workers()
            frozen.send_signal(signal.SIGSTOP)
            try:
                # Those whose connections it holds wait for it; those it owned are served by the other one.
                later = Load(gateway.url, clients=8, users=8)
                async with later.running():
                    await until(lambda: later.ends["ok"] >= 100 or load.ends["connection_error"] > 0, 60)
                    frozen.send_signal(signal.SIGCONT)
                    await later.goes_on()
            finally:
                frozen.send_signal(signal.SIGCONT)
            await load.goes_on()
        assert other.is_running()
        ends = load.ends + later.ends
        assert ends.keys() <= {"ok", "connection_error", "503", "unavailable"}, (ends, gateway.lines)
    assert twice(tmp_path / "log") == []


@pytest.mark.long
async def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path):
    async with fleet(tmp_path, work(tmp_path)) as gateway:
        load = Load(gateway.url, clients=2)
        async with load.running():
            await load.goes_on(5)
        workers = gateway.workers()
        servers = [pid for pid in pids(tmp_path / "log") if psutil.pid_exists(pid)]
        assert servers
        gateway.process.kill()
        async with fail_after(40, "the end of workers without a supervisor"):
            for pid in (*(worker.pid for worker in workers), *servers):
                await ended(pid)
        await gateway.process.wait()


@pytest.mark.long
async def test_a_worker_that_cannot_start_leaves_the_old_ones_in_place(tmp_path: Path):
    async with fleet(tmp_path, work(tmp_path)) as gateway:
        load, old = Load(gateway.url), gateway.workers()
        good = gateway.path.read_text()
        async with load.running():
            await load.goes_on()
            gateway.path.write_text("mcp_servers: {work: {}}")
            gateway.start_anew()
            await gateway.told("the old workers stay, since the config cannot be used")
            required = good.replace("mcp_servers:", "mcp_servers:\n  gone: {command: /no/such/program, required: true}")
            gateway.path.write_text(required)
            gateway.start_anew()
            await gateway.told("the old workers stay, since a new one cannot start")
            await load.goes_on()
        assert gateway.workers() == old
        assert load.ends.keys() == {"ok"}
        gateway.path.write_text(good.replace("workers: 2", "workers: 3"))
        gateway.start_anew()
        await gateway.told("3 workers were started anew")
        await until(lambda: not any(each.is_running() for each in old), 90)
        assert len(gateway.workers()) == 3


@pytest.mark.long
async def test_what_is_under_way_is_answered_when_the_gateway_is_told_to_stop(tmp_path: Path):
    async with fleet(tmp_path, work(tmp_path)) as gateway, aiohttp.ClientSession() as http:
        calls = [
            asyncio.ensure_future(call(http, gateway.url, "work_act", {"sleep": 2}, user=f"user-{number}"))
            for number in range(6)
        ]

        def arrived() -> int:
            if not (tmp_path / "log").exists():
                return 0
            return len([each for each in received(tmp_path / "log") if each.get("method") == "tools/call"])

        await until(lambda: arrived() == 6)
        os.kill(gateway.process.pid, signal.SIGTERM)
        answers = await asyncio.gather(*calls)
        async with fail_after(30, "the end"):
            assert await gateway.process.wait() == 0
    assert [status for status, _ in answers] == [200] * 6
