"""Inodes of its own for a container of a private lane: overlays in anonymous volumes, and copies of files."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bascule.sandbox.mounts.mount_points import mounted_here
from bascule.sandbox.mounts.own_inodes import LARGEST_COPY, plan, with_copies
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import SharedInodes

COPIES = "copies"
"""In the folder of an owner: files that its containers have copies of, in a folder by the name of each container."""

EMPTY = "empty-layer"
"""In the same folder: the upper of the two layers of each overlay."""


@dataclass(frozen=True, slots=True)
class PrivateMounts:
    """A sandbox with inodes of its own, as the engine is asked for it."""

    box: Box
    overlays: Mapping[str, str]
    """Options of the overlay that is mounted at each of these paths in the sandbox."""
    folders: Mapping[str, str]
    """The folders below the overlays, each with the options."""
    folder: Path
    """The folder with its copies. It is removed after the container."""
    shared: SharedInodes


def private_mounts(box: Box, owner: Path, refused: Mapping[str, str]) -> PrivateMounts:
    """The sandbox with inodes of its own. `refused` has the folders of which the engine could make no overlay, each
    with the reason of the engine."""
    empty, folder = owner / EMPTY, owner / COPIES / box.name
    if not empty.exists():
        empty.mkdir()
    remove_copies(folder)
    folder.mkdir(parents=True)
    planned = with_copies(plan(box.mounts, mounted_here(), parts=False), folder)
    overlaid = [each for each in planned if each.way == "overlay" and each.folder not in refused]
    kept = {each.folder: refused[each.folder] for each in planned if each.folder in refused}
    large = [each.mount.source for each in planned if each.way == "shared"]
    reasons = [f"{LARGEST_COPY >> 20} MiB are the largest file that is copied"] if large else []
    return PrivateMounts(
        replace(box, mounts=tuple(each.mount for each in planned)),
        {each.mount.target: overlay_options(str(empty), each.folder) for each in overlaid},
        {each.folder: overlay_options(str(empty), each.folder) for each in overlaid},
        folder,
        SharedInodes(tuple(sorted({*kept, *large})), "; ".join([*reasons, *dict.fromkeys(kept.values())])),
    )


def overlay_options(empty: str, folder: str) -> str:
    """Options of an overlay with nothing to write to. The kernel wants two lower layers, so the upper one is empty."""
    return f"ro,nosuid,nodev,lowerdir={_escaped(empty)}:{_escaped(folder)}"


def _escaped(path: str) -> str:
    for character in "\\:,":
        path = path.replace(character, f"\\{character}")
    return path


def remove_copies(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
