"""Benchmark of the audit log on disk: the cost of a call's two records, and the speed of verification."""

import asyncio
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bascule.core.events import ToolInvoked
from bascule.core.outcome import ToolResult
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey, ToolSpec
from bascule.records.audit.log import Audit
from bascule.records.audit.verify import check_log
from bascule.store.audit.folder import AuditFolder
from bascule.store.sqlite.store import SqliteStore
from bench.result import Goal, Report, Row

COUNT, ROUNDS = 20_000, 7
ALICE = Principal("alice", "s-1")


@dataclass
class Asked:
    """A call as the log is told of it."""

    server: str = "files"
    tool: str = "write_file"
    lane: Lane = Lane.OPEN
    shapes: dict[str, str] = field(default_factory=lambda: {"path": "string[12]", "content": "string[400]"})
    spec: object = ToolSpec(
        "files_write_file", ToolKey("files", "write_file"), "", input_schema={"properties": {"path": {}, "content": {}}}
    )


async def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair, read = await _written(Path(folder))
        verified = _verified(Path(folder))
    rows = [
        Row("sending and ended, sixty-four pairs to a write", pair, "µs", Goal("at most", 8)),
        Row("ended alone, sixty-four to a write", read, "µs", Goal("at most", 6)),
        Row("verified", verified, "records/s", Goal("at least", 50_000)),
    ]
    report.add("the audit log", rows)


async def _written(state: Path) -> tuple[float, float]:
    store = SqliteStore(state / "bascule.db", state)
    await store.open()
    audit = Audit(time.time)
    await audit.open(state, store.anchors, every=600, whole=False)
    try:
        return median([await _pairs(audit) for _ in range(ROUNDS)]), median(
            [await _reads(audit) for _ in range(ROUNDS)]
        )
    finally:
        await audit.close()
        await store.close()


async def _pairs(audit: Audit) -> float:
    asked = Asked()
    outcome = ToolResult({}, "files", "write_file", Lane.OPEN, {})
    started = time.thread_time()
    for turn in range(COUNT):
        if turn % 64 == 0:
            await asyncio.sleep(0)
        noted = audit.sending(ALICE, asked, "tools/call", first=True, values=None)
        audit.note(_event(asked, outcome, noted))
    return (time.thread_time() - started) / COUNT * 1e6


async def _reads(audit: Audit) -> float:
    asked = Asked()
    outcome = ToolResult({}, "files", "write_file", Lane.OPEN, {})
    started = time.thread_time()
    for turn in range(COUNT):
        if turn % 64 == 0:
            await asyncio.sleep(0)
        audit.sending(ALICE, asked, "tools/call", first=False, values=None)
        audit.note(_event(asked, outcome, 0))
    return (time.thread_time() - started) / COUNT * 1e6


def _verified(state: Path) -> float:
    folder, key = AuditFolder(state), (state / "keys" / "audit.key").read_bytes()
    started = time.perf_counter()
    check = check_log(folder, [*folder.files()], key, {})
    seconds = time.perf_counter() - started
    (writer,) = check.writers
    # There is no store at hand, and so no anchor. Nothing else is amiss.
    assert [damage.what for damage in writer.damage] == ["anchor missing"], writer.damage
    return writer.records / seconds


def _event(asked: Asked, outcome: ToolResult, noted: int) -> ToolInvoked:
    return ToolInvoked(
        "files_write_file",
        "files",
        ALICE,
        Lane.OPEN,
        outcome,
        asked.shapes,
        {},
        time.time(),
        seconds=0.004,
        noted=noted,
    )
