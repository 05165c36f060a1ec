"""The audit log as tests have it: a list of what would be written, a real one on disk, and what stands in it."""

import errno
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import NotWrittenDown
from bascule.core.events import ToolInvoked
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolSpec
from bascule.records.audit.damage import AuditCheck
from bascule.records.audit.log import Audit
from bascule.records.audit.verify import check_log
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.folder import AuditFolder
from bascule.store.sqlite.store import SqliteStore
from support.links import ALICE

SPEC = ToolSpec("files_write", ToolKey("files", "write"), "", input_schema={"properties": {"path": {}}})


@dataclass
class Asked:
    """A request as the log is told of it."""

    server: str = "files"
    tool: str = "write"
    lane: Lane = Lane.OPEN
    shapes: dict[str, str] = field(default_factory=lambda: {"path": "string[4]"})
    spec: object = SPEC


class Notes:
    """Takes changes of levels in place of a log. With `full`, it has no room for them."""

    def __init__(self) -> None:
        self.deeds: list[tuple[Principal, str, DataSensitivity | None, str]] = []
        self.changes: list[Receipt | None] = []
        self.full = False

    async def deed(self, principal: Principal, change: str, to: DataSensitivity | None, by: str) -> None:
        self._check()
        self.deeds.append((principal, change, to, by))

    async def level_changed(self, receipt: Receipt | None) -> None:
        self._check()
        self.changes.append(receipt)

    def _check(self) -> None:
        if self.full:
            raise NotWrittenDown("no room", rule="written_down_first", evidence="ENOSPC", fix="make room")


@asynccontextmanager
async def opened(state: Path, *, every: float = 600, whole: bool = False) -> AsyncGenerator[Audit]:
    """A log that is written, with its anchors in a database beside it."""
    store = SqliteStore(state / "bascule.db", state)
    await store.open()
    audit = Audit(lambda: 7.0)
    try:
        await audit.open(state, store.anchors, every=every, whole=whole)
        try:
            yield audit
        finally:
            await audit.close()
    finally:
        await store.close()


def fill(audit: Audit, count: int, principal: Principal = ALICE) -> list[int]:
    """So many records of requests about to be sent."""
    return [audit.sending(principal, Asked(), "tools/call", first=True, values=None) for _ in range(count)]


async def checked(state: Path, *given: Anchor) -> AuditCheck:
    """The log of this state folder, verified."""
    folder = AuditFolder(state)
    slots = list(folder.files())
    store = SqliteStore(state / "bascule.db", state)
    try:
        sealed = await store.anchors.sealed()
    finally:
        await store.close()
    return check_log(folder, slots, (state / "keys" / "audit.key").read_bytes(), sealed, given)


def log_file(state: Path, slot: str = "0001") -> Path:
    return state / "audit" / f"{slot}.log"


def logged(state: Path, *kinds: str, slot: str = "") -> list[dict[str, Any]]:
    """The whole records in the log of this state folder, slot by slot; of these kinds and this slot alone, if named."""
    files = AuditFolder(state).files()
    paths = [path for name, found in files.items() if slot in {"", name} for path in found]
    lines = [line for path in paths for line in path.read_bytes().split(b"\n")[:-1]]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [record for record in records if not kinds or record["kind"] in kinds]


def kinds(state: Path) -> list[str]:
    return [record["kind"] for record in logged(state)]


DONE = ToolResult({}, "files", "write", Lane.OPEN, {})
REFUSED = ToolFailure(FailureKind.DENIED, "BSC-300", "no", "files", "write")
RECEIPT = Receipt(
    4,
    "raise",
    ALICE,
    5.0,
    DataSensitivity.PUBLIC,
    DataSensitivity.SECRET,
    1,
    Cause("label", "files", "read", "payroll"),
)


def ended(noted: int = 0, outcome: Any = DONE) -> ToolInvoked:
    return ToolInvoked("files_write", "files", ALICE, Lane.OPEN, outcome, {}, {}, 5.0, noted=noted)


class Permit:
    """Always valid."""

    def valid(self) -> bool:
        return True


class Full:
    """A disk without room, for as long as `on`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on = False
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.on:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._write(descriptor, data)
