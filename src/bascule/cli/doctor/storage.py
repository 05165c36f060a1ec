"""What `bascule doctor` checks of the audit log: that it can be read and written, that the clock of this machine goes
forward and, where it is short, that it is what was written."""

import asyncio
import os
import shlex
import time
from pathlib import Path

from bascule.cli.doctor.check import Check, failed
from bascule.cli.views.audit import damage_lines
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import StoreError
from bascule.records.audit.chain_slot import read_tail
from bascule.records.audit.verify import check_state
from bascule.store.audit.chain import head_of, split
from bascule.store.audit.folder import AuditFolder
from bascule.store.open import store_at

SUBJECT = "audit"

SKEW = 120.0
"""Seconds by which a record may be ahead of us: several machines may write to a shared folder."""


MOST_VERIFIED = 32 * 1024 * 1024
"""Bytes of a log that is verified here, in a second or two. Nobody waits here for years of records to be read."""

SHOWN = 3
"""Damages that are told."""


async def audit_checks(config: RuntimeConfig, state: Path, now: float) -> list[Check]:
    """What is read at its end, whether it can be written to, and what `bascule audit verify` would say of it."""
    folder = AuditFolder(state).path
    if folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return [_closed(folder)]
    read = await asyncio.to_thread(audit_check, state, now)
    return [read, *await _verified(config, state)] if read.status == "ok" else [read]


def _closed(folder: Path) -> Check:
    found, shown = folder.stat(), shlex.quote(str(folder))
    told = f"this user may not write to the audit log in {folder}: nothing that may write or connect is done"
    evidence = f"mode {found.st_mode & 0o7777:04o}, owner {found.st_uid}, we are {os.geteuid()}"
    fix = f"run `chmod 700 {shown}`" if found.st_uid == os.geteuid() else f"run `sudo chown -R $(id -u) {shown}`"
    return Check(SUBJECT, "fail", told, evidence, fix)


async def _verified(config: RuntimeConfig, state: Path) -> list[Check]:
    size = sum(path.stat().st_size for files in AuditFolder(state).files().values() for path in files)
    if size > MOST_VERIFIED:
        told = f"it has {size // 2**20} MiB, more than is verified here; `bascule audit verify` looks at all of it"
        return [Check(SUBJECT, "ok", told)]
    store = store_at(config.store, state)
    await store.open()
    try:
        check = await check_state(state, store)
    except StoreError as error:
        return [failed(SUBJECT, error)]
    finally:
        await store.close()
    if check.ok:
        return []
    told = "the audit log is not what was written: somebody changed it, or the disk lost a part"
    fix = (
        "keep a copy of it and find out who could write there; run `bascule audit verify`, which tells how far it holds"
    )
    return [Check(SUBJECT, "warn", told, "\n".join(damage_lines(check)[:SHOWN]), fix)]


def audit_check(state: Path, now: float) -> Check:
    """By the end of each chain alone."""
    folder = AuditFolder(state)
    try:
        ends = [end for files in folder.files().values() if (end := _last(files)) is not None]
    except OSError as error:
        fix = "see that this user may read the folder, then run `bascule audit verify`"
        return Check(SUBJECT, "warn", f"the audit log in {folder.path} cannot be read", str(error), fix)
    newest = max(ends, default=None)
    if newest is None:
        return Check(SUBJECT, "ok", "nothing is logged yet")
    if newest > now + SKEW:
        evidence = f"the newest record is of {_date(newest)}; it is {_date(now)} now"
        fix = "set the clock (`timedatectl set-ntp true`)"
        return Check(SUBJECT, "warn", "the clock of this machine was set back, or is wrong", evidence, fix)
    return Check(SUBJECT, "ok", f"the newest record is of {_date(newest)}")


def _last(files: list[Path]) -> float | None:
    lines = read_tail(files).lines
    parts = split(lines[-1]) if lines else None
    head = head_of(parts[0]) if parts is not None else None
    return head.at if head is not None else None


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
