"""A lock between processes."""

import asyncio
import sys
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.secrets.process_lock import key_lock
from support.waiting import fail_after

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


async def test_one_holds_it_at_a_time(tmp_path: Path):
    inside: list[str] = []
    begun, go = asyncio.Event(), asyncio.Event()

    async def hold(name: str) -> None:
        async with key_lock(tmp_path / "a.lock"):
            inside.append(name)
            begun.set()
            await go.wait()
            inside.append(name)

    async with fail_after(10), asyncio.TaskGroup() as tasks:
        tasks.create_task(hold("one"))
        await begun.wait()
        tasks.create_task(hold("two"))
        await asyncio.sleep(0.1)  # several tries of the second
        assert inside == ["one"]
        go.set()

    assert inside == ["one", "one", "two", "two"]


async def test_another_process_holds_it_too_until_it_dies(tmp_path: Path):
    path = tmp_path / "a.lock"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(path), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with fail_after(20):
            assert await process.stdout.readline() == b"held\n"
            with pytest.raises(StoreError, match="stayed locked") as caught:
                async with key_lock(path, longest=0.1):
                    raise AssertionError("two hold one lock")
            assert str(path) in caught.value.fix
            process.kill()
            async with key_lock(path):
                pass
    finally:
        await process.wait()


async def test_a_lock_that_cannot_be_made_is_told(tmp_path: Path):
    with pytest.raises(StoreError, match="cannot be locked"):
        async with key_lock(tmp_path / "missing" / "a.lock"):
            pass


async def test_a_planted_link_is_not_followed(tmp_path: Path):
    (tmp_path / "a.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError):
        async with key_lock(tmp_path / "a.lock"):
            pass

    assert not (tmp_path / "elsewhere").exists()
