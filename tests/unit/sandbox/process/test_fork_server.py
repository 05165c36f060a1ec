"""Our end of the nursery, and the process itself: when it starts, what it is given, and when it ends."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from bascule.sandbox.process import fork_server as subject
from bascule.sandbox.process import supervised
from bascule.sandbox.process.child import Child, Command, Pipes, spawn
from bascule.sandbox.process.fork_server import Nursery, end_nursery, nursery, reach, why_without
from bascule.sandbox.process.supervised import inheritance
from support.outside import PATIENCE
from support.processes import ended
from support.servers import command
from support.waiting import fail_after, until


@pytest.fixture(autouse=True)
def a_house_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "_house", subject._House())
    yield
    end_nursery()


def unheard() -> Pipes:
    return Pipes(asyncio.BaseProtocol(), asyncio.Protocol(), asyncio.Protocol())


@asynccontextmanager
async def a_child() -> AsyncGenerator[Child]:
    async with fail_after(PATIENCE, "the life of a child"):
        child = await spawn(command("portrait"), unheard())
        try:
            yield child
        finally:
            await child.close(0.2)


def current() -> Nursery:
    found = nursery(inheritance().standing)
    assert found is not None
    return found


async def test_there_is_one_from_the_first_server_on_and_it_is_a_session_of_its_own():
    assert subject._house.nursery is None
    async with a_child() as child:
        first = current()
        assert psutil.Process(child.pid).parents()[1].pid == first.pid
        assert os.getsid(first.pid) == first.pid
    async with a_child():
        assert current() is first


async def test_it_has_nothing_of_ours_but_its_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/lib")
    with (tmp_path / "private").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        async with a_child():
            pid = current().pid
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            folder = Path(f"/proc/{pid}/cwd").readlink()
            files = {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}

    assert environment == b"LD_LIBRARY_PATH=/usr/lib\0"
    assert {name.partition(":")[0] for name in files} == {"/dev/null", "socket", "pipe", "anon_inode"}
    assert sum(name.startswith("socket") for name in files) == 1
    assert folder == Path("/")


async def test_one_that_was_killed_is_replaced_and_its_keepers_go_on():
    async with a_child() as before:
        first = current()
        os.kill(first.pid, signal.SIGKILL)
        await until(lambda: first.ended)
        async with a_child() as after:
            assert not before.exited.done()
            assert psutil.Process(after.pid).parents()[1].pid == current().pid != first.pid


async def test_who_stands_elsewhere_gets_another_and_the_old_one_goes_with_its_last_keeper():
    async with a_child():
        first = current()
        second = nursery(("elsewhere",))
        assert second is not None
        assert second is not first
        assert not first.ended
    await until(lambda: first.ended)
    assert current() not in (first, second)


async def test_it_can_be_ended_and_leaves_no_trace():
    async with a_child():
        pid = current().pid
    before = len([*Path("/proc/self/fd").iterdir()])
    end_nursery()

    assert not psutil.pid_exists(pid)
    assert len([*Path("/proc/self/fd").iterdir()]) == before - 1
    end_nursery()


def test_it_can_be_ended_though_somebody_has_a_copy_of_our_socket():
    copy = os.dup(current()._orders.fileno())
    try:
        end_nursery()
    finally:
        os.close(copy)


async def test_an_interrupt_and_a_term_for_all_of_us_do_not_end_it():
    async with a_child():
        first = current()
    os.kill(first.pid, signal.SIGINT)
    os.kill(first.pid, signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.2)


PROGRAM = """
import asyncio, os, sys
from bascule.sandbox.process.child import Command, Pipes, spawn
from bascule.sandbox.process import fork_server as nursery

async def open(close=True):
    child = await spawn(Command(["/bin/cat"], {"PATH": "/bin"}), Pipes(*(asyncio.Protocol() for _ in range(3))))
    if close:
        await child.close(1)
    return child

def home():
    return nursery._house.nursery.pid
"""


def ran(script: str, *flags: str) -> str:
    done = subprocess.run(
        [sys.executable, *flags, "-c", PROGRAM + script], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.long
async def test_it_ends_with_us_without_a_word_whether_or_not_a_server_runs():
    for close in (True, False):
        pid = int(ran(f"asyncio.run(open({close})); print(home(), flush=True); os._exit(0)"))
        async with fail_after(3, "the end of the nursery"):
            await ended(pid)
    async with fail_after(3, "the end of the nursery"):
        await ended(int(ran("asyncio.run(open()); print(home())", "-X", "dev", "-W", "error")))


def test_a_fork_of_ours_has_a_nursery_of_its_own_and_leaves_ours_alone():
    script = """
child = asyncio.run(open())
first = home()
if os.fork() == 0:
    asyncio.run(open())
    print(home() != first, flush=True)
    nursery.end_nursery()
    os._exit(0)
os.wait()
asyncio.run(open())
print(home() == first, nursery._house.nursery.ended)
"""
    assert ran(script) == "True\nTrue False\n"


def test_our_end_is_noticed_though_a_fork_of_ours_lives_on_with_all_our_sockets():
    script = """
async def main():
    child = await open(close=False)
    fork = os.fork()
    if fork == 0:
        os.closerange(0, 3)
        import signal; signal.pause()
    print(child.pid, home(), fork, flush=True)
    os._exit(0)
asyncio.run(main())
"""
    server, home, fork = map(int, ran(script).split())
    try:
        asyncio.run(_all_ended(server, home))
    finally:
        os.kill(fork, signal.SIGKILL)


async def _all_ended(*pids: int) -> None:
    async with fail_after(3, "the end of everything"):
        for pid in pids:
            await ended(pid)


@pytest.mark.long
async def test_several_loops_in_threads_share_it():
    async def two() -> None:
        for _ in range(2):
            async with a_child():
                pass

    await asyncio.gather(*(asyncio.to_thread(asyncio.run, two()) for _ in range(4)))
    assert not current().ended


# Where there can be none


@pytest.mark.parametrize("executable", ["", "/no/such/python", "/bin/false"])
async def test_without_a_python_that_starts_there_are_no_keepers(executable: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(subject, "_house", subject._House())
    child = await spawn(Command(["/bin/cat"], {"PATH": "/bin"}), unheard())

    assert psutil.Process(child.pid).ppid() == os.getpid()
    assert reach() == "group while we live"
    await child.close(1.0)


async def test_a_program_that_never_greets_is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexec sleep 30\n")
    silent.chmod(0o755)
    monkeypatch.setattr(supervised, "HATCHING", 0.2)
    before = {process.pid for process in psutil.Process().children()}
    to_run = command("portrait")
    monkeypatch.setattr(sys, "executable", str(silent))
    child = await spawn(to_run, unheard())

    assert reach() == "group while we live"
    assert why_without() == "no keeper has come to life"
    left = {process.pid for process in psutil.Process().children()} - before
    await child.close(1.0)
    assert left == {child.pid}


async def test_a_packed_program_is_not_started_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert subject._House().without


async def test_how_far_the_arm_is_comes_from_a_keeper(monkeypatch: pytest.MonkeyPatch):
    assert reach() == "tree"
    monkeypatch.delattr(os, "pidfd_open")
    assert reach() == "group"
    async with a_child():
        assert reach() == "tree"
    subject.greeted("group")
    assert reach() == "group"
