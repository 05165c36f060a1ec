"""Servers that leave processes behind in every nasty way: however a link ends, three seconds later nothing is left."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest

from bascule.config import RuntimeConfig, Timeouts
from bascule.core.outcome import ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.command import environment
from support.nasty import Nasties, nasties
from support.survivors import LIMIT, survivors
from support.waiting import fail_after, until

PATIENT = Timeouts(connect=60, probe=30, list=30, call=30, close=1)
HASTY = Timeouts(connect=5, probe=4, list=5, call=5, close=1)
"""Long enough for all of them to be up."""


@asynccontextmanager
async def at_work(nasty: Nasties, timeouts: Timeouts) -> AsyncGenerator[AgentSession]:
    config = RuntimeConfig(nasty.configs(timeouts), links_starting=len(nasty.names))
    async with fail_after(90, "the life of a runtime"), Runtime(config) as runtime:
        yield runtime.session("alice", "s-1")


async def connected(session: AgentSession, nasty: Nasties) -> None:
    reports = await session.connect()
    assert [report.error for report in reports] == [None] * len(nasty.names)
    await nasty.all_up()


@pytest.mark.long
async def test_closing_leaves_nothing(tmp_path: Path):
    with nasties(tmp_path) as nasty:
        async with at_work(nasty, PATIENT) as session:
            await connected(session, nasty)

        assert await survivors(nasty.marker) == []


@pytest.mark.long
async def test_a_connect_that_ran_out_of_time_leaves_nothing(tmp_path: Path):
    with nasties(tmp_path, "mute") as nasty:
        async with at_work(nasty, HASTY) as session:
            reports = await session.connect()

            assert nasty.up()
            assert all(report.error for report in reports)
            assert await survivors(nasty.marker) == []


async def test_a_server_that_is_killed_leaves_nothing_though_nobody_closes_its_link(tmp_path: Path):
    with nasties(tmp_path) as nasty:
        async with at_work(nasty, PATIENT) as session:
            await connected(session, nasty)
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    if process.parent() and (process.parent() or process).name() == "bascule-keeper":
                        process.kill()

            assert await survivors(nasty.marker) == []


Body = Callable[[AgentSession, Nasties], Awaitable[None]]


async def connect(session: AgentSession, nasty: Nasties) -> None:
    await session.connect()


async def call(session: AgentSession, nasty: Nasties) -> None:
    await connected(session, nasty)
    await asyncio.gather(*(session.call(f"{name}_act", {"silent": True}) for _, name in nasty.names))


@pytest.mark.parametrize(("body", "manners"), [(connect, ("mute",)), (call, ())], ids=["connect", "call"])
@pytest.mark.long
async def test_a_program_cancelled_in_the_middle_leaves_nothing(tmp_path: Path, body: Body, manners: tuple[str, ...]):
    async def program(nasty: Nasties) -> None:
        async with at_work(nasty, PATIENT) as session:
            await body(session, nasty)

    with nasties(tmp_path, *manners) as nasty:
        running = asyncio.create_task(program(nasty))
        await nasty.all_up()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert await survivors(nasty.marker) == []


async def test_one_call_given_up_does_not_cost_the_others_their_server(tmp_path: Path):
    with nasties(tmp_path) as nasty:
        async with at_work(nasty, PATIENT) as session:
            await connected(session, nasty)
            names = [f"{name}_act" for _, name in nasty.names]
            given_up = [asyncio.create_task(session.call(name, {"silent": True})) for name in names]
            answered = await asyncio.gather(*(session.call(name, {}) for name in names))
            for waiting in given_up:
                waiting.cancel()
            await asyncio.gather(*given_up, return_exceptions=True)

            assert all(isinstance(outcome, ToolResult) for outcome in answered)
        assert await survivors(nasty.marker) == []


@pytest.mark.parametrize("manners", [(), ("mute",)], ids=["connected", "while it connects"])
@pytest.mark.long
async def test_our_own_kill_leaves_nothing(tmp_path: Path, manners: tuple[str, ...]):
    with nasties(tmp_path, *manners) as nasty:
        host = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("host.py")),
            written(tmp_path, nasty),
            env=environment(tmp_path),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            await nasty.all_up()
            if not manners:
                assert host.stdout is not None
                assert await host.stdout.readline() == b"connected\n"
            family = psutil.Process(host.pid).children(recursive=True)
        finally:
            host.kill()
            await host.wait()

        assert len(family) >= 2 * len(nasty.names) + 1
        assert await survivors(nasty.marker) == []
        # The nursery and the keepers carry nothing of the servers' environment.
        await until(lambda: not any(process.is_running() for process in family), LIMIT)


def written(folder: Path, nasty: Nasties) -> str:
    file = folder / "bascule.yaml"
    file.write_text(json.dumps({"mcp_servers": nasty.entries(), "links": {"starting": len(nasty.names)}}))
    return str(file)
