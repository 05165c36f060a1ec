"""Processes under a reaper, and the attributes that they inherit from the runtime."""

import asyncio
import errno
import logging
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psutil
import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.process import supervised as subject
from bascule.sandbox.process.fork_server import Nursery, end_nursery, nursery
from bascule.sandbox.process.supervised import Kept, inheritance, keep
from support.children import children, keepers
from support.processes import ended
from support.servers import argv
from support.waiting import fail_after, until


@asynccontextmanager
async def kept(*words: str) -> AsyncGenerator[Kept]:
    async with fail_after(20, "the life of a process"):
        process = await keep(words or argv("stubborn"), dict(os.environ), None)
        assert process is not None
        try:
            yield process
        finally:
            await process.kill()
            process.let_go()


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


async def test_its_pipes_are_ours_and_its_exit_is_told():
    async with kept("/bin/sh", "-c", "read line; echo $line; exit 3") as process:
        process.stdin.write(b"hello\n")

        assert await asyncio.to_thread(process.stdout.readline) == b"hello\n"
        assert await process.exited == 3
        assert not process.orphaned


async def test_between_it_and_us_are_its_keeper_and_the_nursery():
    async with kept() as process:
        above = psutil.Process(process.pid).parents()

        assert [parent.name() for parent in above[:2]] == ["bascule-keeper", "bascule-nursery"]
        assert (above[0].pid, above[2].pid) == (process.keeper, os.getpid())


async def test_a_keeper_costs_less_than_a_megabyte():
    async with kept() as process:
        own = psutil.Process(process.keeper).memory_full_info().uss

    assert own < 1_000_000


async def test_term_and_kill_reach_it():
    async with kept() as process:
        assert await asyncio.to_thread(process.stdout.readline) == b"ready\n"
        process.terminate()
        assert await asyncio.to_thread(process.stdout.readline) == b"TERM\n"
        await process.kill()

        assert process.exited.result() == -signal.SIGKILL
        process.terminate()
        await process.kill()


async def test_a_keeper_that_does_nothing_any_more_is_killed_and_the_server_goes_with_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(subject, "KILLING", 0.1)
    async with kept() as process:
        os.kill(process.keeper, signal.SIGSTOP)
        await process.kill()

        assert process.orphaned
        await ended(process.pid)


async def test_what_the_system_has_against_it_is_raised_as_it_was():
    with pytest.raises(NotADirectoryError) as caught:
        await keep(["/bin/cat"], {}, "/etc/passwd")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOTDIR, "/etc/passwd")
    with pytest.raises(ValueError, match="null byte"):
        await keep(["/bin/cat", "\0"], {}, None)


async def test_the_folder_is_ours_at_the_time_also_when_it_is_gone(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(folder)
    async with kept("/bin/pwd") as process:
        assert await asyncio.to_thread(process.stdout.readline) == f"{folder}\n".encode()
    folder.rmdir()
    async with kept("/bin/pwd") as process:
        assert await asyncio.to_thread(process.stdout.readline) == b"/\n"


@pytest.mark.parametrize("size", [1, 3_000_000], ids=["small", "large"])
@pytest.mark.parametrize("steps", range(10))
async def test_a_making_cut_short_at_any_moment_leaves_no_file_and_no_process(steps: int, size: int):
    end_nursery()
    async with kept("/bin/cat"):
        pass
    files, before = open_files(), children()
    words = {f"V{number}": "x" * 100_000 for number in range(size // 100_000)}
    async with fail_after(20, "the end of the making"):
        making = asyncio.create_task(keep(argv("stubborn"), words, None))
        for _ in range(steps):
            await asyncio.sleep(0 if steps < 5 else 0.0005)
        making.cancel()
        made = (await asyncio.gather(making, return_exceptions=True))[0]
        if isinstance(made, Kept):
            await made.discard()

    assert (open_files(), children()) == (files, before)
    await until(lambda: not keepers())


@contextmanager
def only_files(spare: int) -> Generator[None]:
    """Let this process open so many more files, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    filling = [os.open(os.devnull, os.O_RDONLY)]
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    while filling[-1] < highest:
        filling.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (filling[-1] + 1 + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in filling:
            os.close(each)


@pytest.mark.parametrize("spare", range(10))
async def test_files_that_run_out_are_told_and_none_is_lost(spare: int):
    async with kept("/bin/cat"):
        pass
    files = open_files()
    with only_files(spare):
        made = (await asyncio.gather(keep(["/bin/cat"], {}, None), return_exceptions=True))[0]
    if isinstance(made, Kept):
        await made.discard()

    # Six ends of pipes, and two of a socket.
    assert isinstance(made, Kept) == (spare >= 8)
    assert isinstance(made, Kept) or (isinstance(made, OSError) and made.errno == errno.EMFILE)
    assert open_files() == files


async def test_a_keeper_killed_in_the_middle_of_a_start_costs_another_attempt(monkeypatch: pytest.MonkeyPatch):
    ordered = Nursery.order
    killed: list[int] = []

    def order_and_kill(self: Nursery, control: object) -> bool:
        if not killed:
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return ordered(self, control)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Nursery, "order", order_and_kill)
    async with kept("/bin/cat") as process:
        assert killed
        assert psutil.Process(process.keeper).ppid() not in killed


async def test_keepers_that_are_always_killed_are_a_failure_with_its_cause(monkeypatch: pytest.MonkeyPatch):
    async with kept("/bin/cat"):
        pass

    def kill(self: Nursery, control: object) -> bool:
        os.kill(self.pid, signal.SIGKILL)
        raise BrokenPipeError

    monkeypatch.setattr(Nursery, "order", kill)
    with pytest.raises(SandboxError, match="no keeper") as caught:
        await keep(["/bin/cat"], {}, None)

    assert caught.value.fix
    end_nursery()


@pytest.mark.long
async def test_a_nursery_with_too_much_to_do_is_asked_again():
    async with fail_after(20):
        found = nursery(inheritance().standing)
        assert found is not None
        os.kill(found.pid, signal.SIGSTOP)
        making = [asyncio.create_task(keep(["/bin/cat"], {}, None)) for _ in range(300)]
        for _ in range(5):
            await asyncio.sleep(0.01)
        os.kill(found.pid, signal.SIGCONT)
        made = await asyncio.gather(*making)
        for process in made:
            assert process is not None
            await process.discard()


async def test_what_could_not_be_ended_is_told(caplog: pytest.LogCaptureFixture):
    async with kept("/bin/cat") as process:
        with caplog.at_level(logging.WARNING):
            process._hear({"exit": 0, "left": [7, 8]})

        assert caplog.messages == ["the processes 7, 8 could not be ended"]
    process = Kept()
    process._hear({"odd": 1})
    assert process.exited.result() == -signal.SIGKILL
    process.let_go()


def test_two_looks_at_the_same_process_agree():
    assert inheritance() == inheritance()


def test_what_goes_along_is_as_it_is_now():
    before = os.umask(0o27)
    try:
        passing = inheritance().passing
    finally:
        os.umask(before)

    assert passing["umask"] == 0o27
    assert passing["nice"] == os.nice(0)
    assert (resource.RLIMIT_NOFILE, *resource.getrlimit(resource.RLIMIT_NOFILE)) in passing["limits"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("os.setgroups([65534])", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root may")),
        pytest.param("os.setuid(65534)", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root may")),
        "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)",
        "os.fork() and (os.wait(), os._exit(0))",
    ],
    ids=["groups", "user", "no new privileges", "process"],
)
def test_who_has_become_somebody_else_stands_elsewhere(change: str):
    script = (
        "import ctypes, os, sys\nfrom bascule.sandbox.process.supervised import inheritance\n"
        f"before = inheritance().standing\n{change}\nprint(inheritance().standing != before, flush=True)\nos._exit(0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=20, check=True)

    assert ended.stdout == b"True\n"


def test_a_mask_changes_nothing_about_where_we_stand():
    standing = inheritance().standing
    before = os.umask(0o77)
    try:
        assert inheritance().standing == standing
    finally:
        os.umask(before)


def test_where_the_system_tells_less_the_rest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "_PROC", str(tmp_path))

    assert inheritance().passing["umask"] is None
    assert inheritance().standing[0] == os.getpid()
