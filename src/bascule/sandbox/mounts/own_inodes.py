"""Plan that gives the read-only mounts of a private lane inodes of their own: overlays of folders, copies of files.

Two sandboxes that mount one inode can signal by its locks, and by FIFOs and sockets in a folder. Mounts that are
written to and the sockets of the sandbox itself stay shared.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.denylist import below
from bascule.sandbox.mounts.path_checks import is_file, is_folder
from bascule.sandbox.spec.box import LIVENESS_PIPE, PROXY_FOLDER, RAISE_SOCKET, Mount

LARGEST_COPY = 64 * 1024 * 1024
"""Bytes of a file that is copied. A copy of that size takes 60 ms."""

DOORS = (PROXY_FOLDER, RAISE_SOCKET, LIVENESS_PIPE)
"""Sockets and the pipe of the runtime. Each belongs to one sandbox, and leads nowhere through an overlay."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""Devices in the /dev of a sandbox."""

Way = Literal["overlay", "copy", "kept", "shared"]
"""The way to an inode of its own. `kept` mounts are shared on purpose, `shared` ones are reported."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One mount, and the way by which it gets an inode of its own."""

    mount: Mount
    way: Way
    folder: str = ""
    """The folder of the host below the overlay: the source of the mount, or a folder around it."""


def is_private(lane: Lane) -> bool:
    return lane is not Lane.OPEN


def plan(mounts: Sequence[Mount], points: Sequence[str], *, parts: bool) -> list[Planned]:
    """The plan for these mounts, in their order. `points` are the mount points of the host. With `parts` a mount may be
    a part of an overlay, such as one file; without, an overlay is mounted as a whole, and files are copied."""
    folders = [mount.source for mount in mounts if not _is_kept(mount) and is_folder(mount.source)]
    widest = _widest(folders, points) if parts else folders
    return [_planned(mount, widest, points, parts=parts) for mount in mounts]


def _planned(mount: Mount, widest: Sequence[str], points: Sequence[str], *, parts: bool) -> Planned:
    if _is_kept(mount):
        return Planned(mount, "kept")
    folder = _folder_for(mount, widest, points) if parts else mount.source if mount.source in widest else ""
    if folder:
        return Planned(mount, "overlay", folder)
    return Planned(mount, "copy" if _is_small(mount.source) else "shared")


def _is_kept(mount: Mount) -> bool:
    return mount.writable or mount.target in DOORS


def _folder_for(mount: Mount, widest: Sequence[str], points: Sequence[str]) -> str:
    """The folder to make an overlay of; empty if there is none, or if a copy does as well: files of the system are
    small, and never edited in place. A file that is a mount point itself is in no overlay of its folder."""
    around = next((folder for folder in widest if _holds(folder, mount.source, points)), "")
    if around or mount.why == "system" or mount.source in points or not is_file(mount.source):
        return around
    return str(Path(mount.source).parent)


def _widest(folders: Iterable[str], points: Sequence[str]) -> list[str]:
    """The folders that lie in no other of them."""
    widest: list[str] = []
    for folder in sorted(set(folders), key=len):
        if not any(_holds(other, folder, points) for other in widest):
            widest.append(folder)
    return widest


def _holds(folder: str, path: str, points: Sequence[str]) -> bool:
    """True if an overlay of the folder contains the path. Mounts below the folder are not in its overlay."""
    return below(path, folder) and _point_of(path, points) == _point_of(folder, points)


def _point_of(path: str, points: Sequence[str]) -> str:
    return max((point for point in points if below(path, point)), key=len, default="/")


def _is_small(path: str) -> bool:
    return is_file(path) and Path(path).stat().st_size <= LARGEST_COPY


def copied(source: str, copy: Path) -> bool:
    """Copies a file with its permissions. False if it cannot be copied."""
    try:
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
    except OSError:
        return False
    return True


def with_copies(planned: Iterable[Planned], folder: Path) -> list[Planned]:
    """The plan after its files were copied into an empty folder. A file that cannot be copied is shared."""
    done: list[Planned] = []
    for number, each in enumerate(planned):
        copy = folder / str(number)
        if each.way != "copy":
            done.append(each)
        elif copied(each.mount.source, copy):
            done.append(Planned(replace(each.mount, source=str(copy)), "copy"))
        else:
            done.append(Planned(each.mount, "shared"))
    return done


def make_devices(folder: Path) -> str:
    """Makes device nodes in an empty folder. Returns the reason why they cannot be used; empty if they can."""
    if os.statvfs(folder).f_flag & os.ST_NODEV:
        return f"{folder} is on a file system that is mounted without devices (nodev)"
    try:
        for name in DEVICES:
            os.mknod(folder / name, stat.S_IFCHR | 0o666, Path("/dev", name).stat().st_rdev)
            # The umask of the runtime may have taken permissions away.
            (folder / name).chmod(0o666)
    except OSError as error:
        return f"device nodes cannot be made: {error.strerror}"
    return ""
