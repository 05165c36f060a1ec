"""Mount points of the host, and the mounts below a folder that a sandbox shows."""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from bascule.sandbox.mounts.denylist import below
from bascule.sandbox.spec.box import Box, Mount

NOT_FILES = {
    "autofs", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "mqueue",
    "nsfs", "proc", "pstore", "securityfs", "sysfs", "tracefs",
}  # fmt: skip
"""File systems that are windows into the kernel. No sandbox shows them."""

MOUNTINFO = Path("/proc/self/mountinfo")


def visible_mounts(box: Box, mounted: Iterable[str]) -> tuple[Mount, ...]:
    """The mounts of a sandbox and the mounts below them on the host, without those that would lie over a mask."""
    found = with_mounts_below(box.mounts, mounted)
    return tuple(mount for mount in found if mount in box.mounts or not _is_masked(mount.target, box))


def _is_masked(target: str, box: Box) -> bool:
    return any(below(target, mask.path) for mask in box.masks)


def with_mounts_below(mounts: Iterable[Mount], mounted: Iterable[str]) -> Iterator[Mount]:
    """Each mount, and after a read-only one the mounts below its source on the host: the sandbox shows them too, and
    as read-only as the folder."""
    points = sorted(set(mounted))
    for mount in mounts:
        yield mount
        if not mount.writable:
            yield from _below(mount, points)


def _below(mount: Mount, points: Iterable[str]) -> Iterator[Mount]:
    source = PurePosixPath(mount.source)
    for point in points:
        path = PurePosixPath(point)
        if path != source and path.is_relative_to(source) and source != PurePosixPath("/"):
            yield Mount(point, str(PurePosixPath(mount.target) / path.relative_to(source)), why=mount.why)


def mounted_here() -> list[str]:
    """Mount points of files on the host, as this process sees them."""
    try:
        lines = MOUNTINFO.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    return [point for line in lines if (point := mount_point(line)) is not None]


def mount_point(line: str) -> str | None:
    """The mount point in one line of mountinfo; None for a window into the kernel."""
    fields, _, rest = line.partition(" - ")
    kind, place = rest.partition(" ")[0], fields.split(" ")
    if len(place) < 5 or kind in NOT_FILES:
        return None
    return (
        place[4]
        .encode("utf-8", "surrogateescape")
        .decode("unicode_escape")
        .encode("latin-1")
        .decode("utf-8", "surrogateescape")
    )
