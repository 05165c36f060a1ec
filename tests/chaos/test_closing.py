"""Closing under the worst conditions: during the start, by many at once, of servers that want to stay."""

import asyncio
from pathlib import Path

from bascule.config import RuntimeConfig, Timeouts
from bascule.runtime.runtime import Runtime
from support.nasty import nasties
from support.survivors import survivors
from support.waiting import fail_after

SERVERS = 5
"""In `make test`. The tenfold is for `make soak`."""

CLOSE = 5.0
SLACK = 2.0
"""Seconds more than the limit, for two cores that do everything else as well."""


async def test_closing_thrice_at_once_during_connect_keeps_to_its_limit(tmp_path: Path, scale: int):
    """None of the servers ever answers, or heeds the end of its input or TERM, and each has left a process as deaf."""
    with nasties(tmp_path, "mute", copies=SERVERS * scale, kinds=("ignores-term",)) as nasty:
        limits = Timeouts(connect=120, probe=120, list=30, call=30, close=CLOSE)
        async with fail_after(180), Runtime(RuntimeConfig(nasty.configs(limits))) as runtime:
            connecting = asyncio.create_task(runtime.session("alice", "s-1").connect())
            await nasty.all_up()
            assert not connecting.done()

            async with fail_after(CLOSE + SLACK, "closing"):
                await asyncio.gather(*(asyncio.create_task(runtime.close()) for _ in range(3)))
            reports = await connecting

        assert all(report.error for report in reports)
        assert await survivors(nasty.marker) == []
