"""Health checks of storage: permissions and free space of the folders, state store, and audit log."""

import asyncio
import os
import shlex
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from bascule.cli.doctor.check import Check, failed
from bascule.cli.doctor.levels import store_checks
from bascule.cli.views.audit import damage_lines
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import HOME_VARIABLE, state_folder
from bascule.config.urls import shown_store
from bascule.core.errors import StoreError
from bascule.records.audit.chain_slot import read_tail
from bascule.records.audit.verify import check_state
from bascule.store.audit.chain import head_of, split
from bascule.store.audit.folder import AuditFolder
from bascule.store.open import store_at
from bascule.workspace.level_marks import LevelMarks

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


FULL = 1024 * 1024
"""Bytes. A database of ours needs as much to be opened: with less, nothing can be kept."""

SCARCE = 32 * 1024 * 1024
"""Bytes. A busy audit log writes this in an hour."""

DISK = "disk"


def folder_checks(config: RuntimeConfig, environ: Mapping[str, str]) -> list[Check]:
    """The state folder, and the one of the workspaces where the config names another."""
    state = state_folder(environ)
    there = f"set {HOME_VARIABLE} to a folder on another disk"
    checks = [*_mode_checks(state), room_check("the state", state, there)]
    if config.workspace_root is not None:
        root = Path(config.workspace_root).expanduser().absolute()
        checks.append(room_check("workspaces", root, "set `workspace.root` to a folder on another disk"))
    return checks


def _mode_checks(folder: Path) -> Iterator[Check]:
    try:
        found = folder.stat()
    except OSError:
        # It is made when it is first needed; why it cannot be is told then.
        return
    if not stat.S_ISDIR(found.st_mode):
        # A file in the way: whoever opens the store says so.
        return
    mode, shown = stat.S_IMODE(found.st_mode), shlex.quote(str(folder))
    evidence = f"mode {mode:04o}, owner {found.st_uid}, we are {os.geteuid()}"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        fix = f"run `chmod 700 {shown}`" if found.st_uid == os.geteuid() else f"run `sudo chown -R $(id -u) {shown}`"
        yield Check("state", "fail", f"this user may not write to the state folder {folder}", evidence, fix)
    elif mode & 0o077:
        told = f"others on this machine can look into the state folder {folder}"
        yield Check("state", "warn", told, evidence, f"run `chmod 700 {shown}`")


def room_check(what: str, folder: Path, elsewhere: str) -> Check:
    """Whether there is room for more. A folder that is not there yet will be on the disk of the one above it."""
    there = next((above for above in (folder, *folder.parents) if above.is_dir()), Path("/"))
    try:
        disk = os.statvfs(there)
    except OSError as error:
        return Check(DISK, "warn", f"the disk of {there} cannot be looked at", str(error))
    free = (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail) * disk.f_frsize
    evidence = f"{_size(free)} of {_size(disk.f_blocks * disk.f_frsize)} are free at {there}"
    fix = f"make room (`du -xh {shlex.quote(str(there))} | sort -h | tail` shows what is large), or {elsewhere}"
    if disk.f_files and not disk.f_favail:
        return Check(DISK, "fail", f"the disk for {what} has no room for another file", "no inodes are left", fix)
    if free < FULL:
        return Check(DISK, "fail", f"the disk for {what} is full", evidence, fix)
    if free < SCARCE:
        return Check(DISK, "warn", f"the disk for {what} is nearly full", evidence, fix)
    return Check(DISK, "ok", f"{_size(free)} are free for {what}")


def _size(count: int) -> str:
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} {units[0]}"


async def kept_checks(config: RuntimeConfig, environ: Mapping[str, str]) -> list[Check]:
    """What is kept, as it was found: by a look of its own, which no runtime takes part in. Raises `BasculeError` where
    it cannot be opened."""
    folder = state_folder(environ)
    store = store_at(config.store, folder)
    await store.open()
    try:
        levels = await store_checks(store.levels, LevelMarks.at(config.workspace_root, folder, store.levels))
    finally:
        await store.close()
    return [Check("state", "ok", f"kept in {await _where(config, environ)}"), *levels]


async def _where(config: RuntimeConfig, environ: Mapping[str, str]) -> str:
    if config.store is None:
        return str(state_folder(environ))
    shown = shown_store(config.store)
    if not config.store.startswith(("postgresql://", "postgres://")):
        return shown
    from bascule.store.postgres.connection import PostgresAddress  # noqa: PLC0415 -- an extra, and there: it was opened

    db = await PostgresAddress(config.store).connect()
    try:
        return f"{shown} (PostgreSQL {db.info.server_version // 10000})"
    finally:
        await db.close()
