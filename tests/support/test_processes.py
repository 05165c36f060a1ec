import asyncio
import subprocess
import sys

from support.processes import ended
from support.waiting import fail_after


async def test_a_process_that_runs_has_not_ended_until_it_has():
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        waiting = asyncio.create_task(ended(process.pid))
        await asyncio.sleep(0)
        assert not waiting.done()
        process.kill()
        async with fail_after(10, "the end"):
            await waiting


async def test_a_process_nobody_knows_has_ended():
    process = subprocess.run(
        [sys.executable, "-S", "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )

    async with fail_after(10, "the end"):
        await ended(int(process.stdout))
