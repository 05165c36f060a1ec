"""How a server in a container ends, and all that it has started."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import psutil
import pytest

from bascule.sandbox.docker.api import Engine
from bascule.sandbox.spec.engine import Run
from bascule.transports.process import docker_kill
from bascule.transports.process.docker_kill import MARK, Ending, carries, sweep_what_was_left
from support.fake_engine import BOX, FakeEngine, answer, fake_engine
from support.waiting import fail_after, until

# Processes of this machine are found by these, also those of another worker.
MINE, OTHER = token_hex(8), token_hex(8)

FAMILY = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"], start_new_session=True)
open(sys.argv[1], "w").write(str(child.pid) + "\\n")
time.sleep(600)
"""


@pytest.fixture
async def fake() -> AsyncGenerator[FakeEngine]:
    async with fail_after(40), fake_engine() as engine:
        yield engine


async def start(engine: Engine, run_id: str) -> None:
    await engine.ask("POST", f"/exec/{run_id}/start", {"Detach": True, "Tty": False})


async def running(fake: FakeEngine, *argv: str, mark: str = MINE) -> Ending:
    """A server that carries a mark, and whose input has not ended."""
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, argv, {MARK: mark}))
    await start(engine, run_id)
    return Ending(engine, BOX, run_id, mark)


def python(code: str, *args: object) -> tuple[str, ...]:
    return (sys.executable, "-S", "-E", "-c", code, *map(str, args))


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_one_that_ends_by_itself_is_told_with_its_code(fake: FakeEngine):
    ending = await running(fake, "sh", "-c", "exit 7")
    state = await ending.ended_within(10)
    assert state is not None
    assert state.code == 7
    assert await (await running(fake, "sleep", "60")).ended_within(0.05) is None


async def test_one_that_does_not_is_ended_by_a_signal(fake: FakeEngine):
    ending = await running(fake, "sleep", "600")
    await ending.bring_about(0.1)
    state = await ending.ended_within(10)
    assert state is not None
    assert state.code in {128 + signal.SIGTERM, 128 + signal.SIGKILL}


async def test_one_that_ignores_the_signal_is_killed_and_its_own_children_with_it(fake: FakeEngine, tmp_path: Path):
    noted = tmp_path / "pid"
    ending = await running(fake, *python(FAMILY, noted))
    await until(lambda: noted.exists() and noted.read_text().endswith("\n"))
    await ending.bring_about(0.1)

    state = await ending.ended_within(10)
    assert state is not None
    assert state.code == 128 + signal.SIGKILL
    await until(lambda: gone(int(noted.read_text())))


@pytest.mark.parametrize("there", [("sh", "sleep", "cat", "grep"), ("sh", "sleep", "cat")])
async def test_what_carries_the_mark_is_ended_and_nothing_else(
    fake: FakeEngine, there: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def from_outside(*_: object) -> bool:
        raise AssertionError("it is ended inside")

    for program in there:
        (tmp_path / program).symlink_to(f"/bin/{program}")
    monkeypatch.setattr(docker_kill, "strike_all", from_outside)
    fake.path = str(tmp_path)
    other = await running(fake, "sleep", "600", mark=OTHER)
    mine = await running(fake, "sleep", "600")
    await mine.bring_about(0.05)
    assert not (await mine.engine.look(mine.run_id)).running
    assert (await other.engine.look(other.run_id)).running


async def test_without_a_shell_the_server_is_ended_from_outside(fake: FakeEngine):
    ending = await running(fake, "sleep", "600")
    fake.has_shell = False
    await ending.bring_about(0.1)
    assert await ending.ended_within(10) is not None


async def test_a_number_that_belongs_to_another_by_now_is_not_struck(fake: FakeEngine):
    victim = await running(fake, "sleep", "600", mark=OTHER)
    fake.has_shell = False
    await Ending(victim.engine, BOX, victim.run_id, MINE).bring_about(0.05)
    assert (await victim.engine.look(victim.run_id)).running


async def test_an_engine_that_is_gone_is_nobodys_failure(tmp_path: Path):
    await Ending(Engine(str(tmp_path / "none")), BOX, "0", MINE).bring_about(0.1)


async def test_when_the_engine_is_gone_what_it_ran_is_ended_from_outside(fake: FakeEngine, tmp_path: Path):
    ending = await running(fake, "sleep", "600")
    await replace(ending, engine=Engine(str(tmp_path / "none"))).bring_about(0.1)
    assert await ending.ended_within(10) is not None


async def test_what_an_engine_has_forgotten_is_found_by_its_mark(fake: FakeEngine):
    ending = await running(fake, "sleep", "600")
    fake.instead["/exec/0/json"] = answer(404, {"message": "No such exec instance"})
    await ending.bring_about(0.1)
    fake.instead.clear()
    assert await ending.ended_within(10) is not None


async def test_what_could_not_be_ended_is_before_something_runs_there_again(
    fake: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where the engine's processes are not to be seen from here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(docker_kill, "strike_all", lambda _mark, _number: False)
    ending = await running(fake, "sleep", "600")
    away = replace(ending, engine=Engine("socket"))
    await away.bring_about(0.1)
    assert (await ending.engine.look(ending.run_id)).running

    Path("socket").symlink_to(fake.socket)
    await sweep_what_was_left(away.engine, "another")
    assert (await ending.engine.look(ending.run_id)).running
    await sweep_what_was_left(away.engine, BOX)
    assert await ending.ended_within(10) is not None
    swept = len(fake.runs)
    await sweep_what_was_left(away.engine, BOX)
    assert len(fake.runs) == swept


async def test_a_mark_is_seen_whole_or_not_at_all():
    process = await asyncio.create_subprocess_exec("sleep", "60", env={**os.environ, MARK: "m-12"})
    try:
        assert carries(process.pid, "m-12")
        assert not carries(process.pid, "m-1")
    finally:
        process.kill()
        await process.wait()
