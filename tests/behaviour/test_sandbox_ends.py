"""End of a sandbox with its runtime, also after `kill -9`: by either engine, on both event loops, and with an engine that
does not answer."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from support.command import BASCULE
from support.docker import DockerEngine, as_found, engine_of_its_own, reached
from support.scenarios import write_yaml
from support.survivors import carrying
from support.waiting import until

RUNTIME = """
import asyncio, sys, bascule, uvloop
from bascule.core.sensitivity import DataSensitivity
async def main():
    async with bascule.Runtime.from_file(sys.argv[1]) as runtime:
        session = runtime.session("alice", "s-1")
        if sys.argv[3] == "sealed":
            await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        outcome = await session.call("box_run", {"argv": ["true"]})
        print("ready" if outcome.ok else outcome, flush=True)
        await asyncio.sleep(600)
{"asyncio": asyncio, "uvloop": uvloop}[sys.argv[2]].run(main())
"""

OURS = {str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "pid")}


@contextmanager
def killed_runtime(folder: Path, loop: str = "asyncio", lane: str = "open") -> Generator[tuple[int, set[str]]]:
    """A runtime with one sandbox, to be killed in the block: its pid, and the sandbox's own namespaces."""
    mark = f"BASCULE_TEST_MARK={uuid4().hex}"
    server = {
        "command": str(BASCULE),
        "args": ["sandbox", "serve"],
        "permissions": {"run": ["write", "connect"]},
        "env": dict([mark.split("=")]),
    }
    config = write_yaml(folder, {"box": server})
    argv = [sys.executable, "-c", RUNTIME, str(config), loop, lane]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid, {name for pid in carrying(mark) for name in namespaces(pid)} - OURS
        finally:
            process.kill()
            process.wait()


def namespaces(pid: int) -> Iterator[str]:
    for kind in ("net", "pid"):
        with suppress(OSError):
            yield str(Path(f"/proc/{pid}/ns/{kind}").readlink())


def processes_in(names: set[str]) -> list[int]:
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [pid for pid in pids if names & set(namespaces(pid))]


def kept_by(engine: DockerEngine, names: set[str]) -> list[str]:
    """The namespaces of these that the engine still holds, also without a process in them."""
    mounts = Path(f"/proc/{engine.pid}/mountinfo").read_text()
    return [name for name in names if name in mounts]


@pytest.mark.requirement("SBX-9")
@pytest.mark.parametrize(("loop", "lane"), [("asyncio", "open"), ("uvloop", "sealed")])
async def test_a_sandbox_ends_with_its_killed_runtime(engine: str, loop: str, lane: str, tmp_path: Path):
    with killed_runtime(tmp_path, loop, lane) as (pid, names):
        # The first process and the server.
        assert len(processes_in(names)) >= 2
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not processes_in(names), 5)
        if engine == "docker":
            with reached() as daemon:
                await until(lambda: not kept_by(daemon, names))


@pytest.mark.requirement("SBX-9")
@pytest.mark.long
async def test_it_ends_also_while_the_engine_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_SANDBOX", "docker")
    with engine_of_its_own() as engine, as_found(engine), killed_runtime(tmp_path) as (pid, names):
        os.kill(engine.pid, signal.SIGSTOP)
        try:
            assert processes_in(names)
            os.kill(pid, signal.SIGKILL)
            await until(lambda: not processes_in(names), 5)
        finally:
            os.kill(engine.pid, signal.SIGCONT)


@pytest.mark.requirement("SBX-9")
@pytest.mark.long
async def test_it_is_still_watched_when_its_engine_was_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With `live-restore` a container goes on without its engine, and nothing is attached to it afterwards."""
    monkeypatch.setenv("BASCULE_SANDBOX", "docker")
    with engine_of_its_own("--live-restore") as engine, as_found(engine), killed_runtime(tmp_path) as (pid, names):
        os.kill(pid, signal.SIGSTOP)
        engine.crash()
        engine.until_up()
        assert processes_in(names)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not processes_in(names), 5)


@pytest.mark.requirement("SBX-9")
@pytest.mark.long
async def test_it_goes_on_while_its_runtime_is_only_stopped(engine: str, tmp_path: Path):
    with killed_runtime(tmp_path) as (pid, names):
        before = processes_in(names)
        os.kill(pid, signal.SIGSTOP)
        # As long as the machine takes for a whole second runtime, which has a sandbox of its own.
        second = tmp_path / "second"
        second.mkdir()
        with killed_runtime(second):
            assert set(before) <= set(processes_in(names))
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not processes_in(names), 5)
