"""A runtime whose disk is full for a while: `audit_disk.py STATE LOG`. Prints what became of what it did, as JSON.

The room is taken away, and given back, by the limit on the size of files: a real one, of this process alone. The log is
made larger than the database first, which the limit would stop as well.
"""

import asyncio
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ["BASCULE_HOME"] = sys.argv[1]

from bascule.core.errors import BasculeError
from bascule.core.outcome import Result, ToolFailure
from bascule.core.sensitivity import DataSensitivity
from bascule.records.audit.log import Audit
from support.auditing import fill
from support.runtime import obeying, running

STATE, LOG = Path(sys.argv[1]), Path(sys.argv[2])
FILE = STATE / "audit" / "0001.log"
PREPARED = 8_000
ROOM = 700
"""Bytes that are left: for two records and a half."""


def limit(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def word(outcome: Result | ToolFailure) -> str:
    return f"{outcome.kind} {outcome.code}" if isinstance(outcome, ToolFailure) else "ok"


async def attempt(session: Any, told: list[Any]) -> None:
    told.append([word(await session.call("writes_act", {"n": 1})), word(await session.call("reads_act", {"n": 1}))])


async def main() -> None:
    servers = (
        obeying(LOG, name="writes"),
        obeying(LOG.with_name("reads"), name="reads", permissions={"act": "read"}),
    )
    before: list[Any] = []
    full: list[Any] = []
    after: list[Any] = []
    raises: list[str] = []
    async with running(*servers) as runtime:
        audit: Audit = runtime._audit
        session = runtime.session("alice", "s-1")
        await attempt(session, before)
        for _ in range(PREPARED // 1000):
            fill(audit, 1000)
            await asyncio.sleep(0)
        limit(FILE.stat().st_size + ROOM)
        for _ in range(8):
            await attempt(session, full)
        size = FILE.stat().st_size
        whole = FILE.read_bytes().endswith(b"\n")
        other = runtime.session("bob", "s-2")
        for _ in range(2):
            try:
                await other.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
            except BasculeError as error:
                raises.append(f"{type(error).__name__}, {other.sensitivity.name}")
        limit(resource.RLIM_INFINITY)
        await attempt(session, after)
        await other.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        raises.append(f"done, {other.sensitivity.name}")
    told = {"before": before, "full": full, "after": after, "raises": raises, "size": size, "whole": whole}
    print(json.dumps(told))


asyncio.run(main())
