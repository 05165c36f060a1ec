"""What `bascule doctor` checks of the audit log: that it can be read, and that this machine's clock goes forward."""

import time
from pathlib import Path

from bascule.cli.check import Check
from bascule.records.audit_tail import read_tail
from bascule.store.audit_chain import head_of, split
from bascule.store.audit_folder import AuditFolder

SUBJECT = "audit"

SKEW = 120.0
"""Seconds by which a record may be ahead of us: several machines may write to a shared folder."""


def audit_check(state: Path, now: float) -> Check:
    """By the end of each chain alone: whether all of it is as it was written is for `bascule audit verify`."""
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
