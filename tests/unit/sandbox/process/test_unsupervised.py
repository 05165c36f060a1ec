"""A process without a keeper."""

import asyncio
import os
import signal

import psutil
import pytest

from bascule.sandbox.process.unsupervised import Direct, start
from support.servers import argv
from support.waiting import fail_after, until


async def started(*words: str) -> Direct:
    return start(words, dict(os.environ), None)


async def ready(process: Direct) -> None:
    """Wait for the first line."""
    async with fail_after(20):
        assert await asyncio.to_thread(process.stdout.readline)


async def ended(process: Direct) -> None:
    async with fail_after(20):
        await process.kill()
    process.let_go()


async def test_it_leads_a_group_of_its_own_and_its_exit_is_told():
    process = await started(*argv("portrait"))
    await ready(process)
    assert os.getpgid(process.pid) == process.pid
    process.stdin.close()

    async with fail_after(20):
        assert await process.exited == 0
    await ended(process)


async def test_what_is_left_in_its_group_is_ended_with_it():
    process = await started("/bin/sh", "-c", "sleep 60 & echo $!")
    left = int(await asyncio.to_thread(process.stdout.readline))

    async with fail_after(20):
        assert await process.exited == 0
    await until(lambda: not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE)
    await ended(process)


@pytest.mark.parametrize("missing", [[], ["pidfd_open"], ["pidfd_open", "waitid"]], ids=" ".join)
async def test_it_lives_and_dies_the_same_on_other_systems(missing: list[str], monkeypatch: pytest.MonkeyPatch):
    for name in missing:
        monkeypatch.delattr(os, name)
    process = await started(*argv("stubborn"))
    await ready(process)
    process.terminate()
    assert await asyncio.to_thread(process.stdout.readline) == b"TERM\n"
    await ended(process)

    assert process.exited.result() == -signal.SIGKILL
    process.terminate()
    await ended(process)


def test_a_loop_that_is_closed_first_hears_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "pidfd_open")
    with asyncio.Runner() as runner:
        process = runner.run(started("/bin/cat"))
    process.let_go()
    process._process.wait(20)
