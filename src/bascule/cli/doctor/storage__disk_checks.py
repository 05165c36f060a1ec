"""What `bascule doctor` checks of the folders that we write to: whose they are, and that there is room."""

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from bascule.cli.doctor.check import Check
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import HOME_VARIABLE, state_folder

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
