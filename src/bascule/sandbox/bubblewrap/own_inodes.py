"""Inodes of its own for a bubblewrap sandbox of a private lane: overlays, copies, device nodes and a new /proc/sys.

Separate from the command line, which is pure: this module reads mount points and writes files."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bascule.sandbox.bubblewrap.argv import SETTINGS, Site
from bascule.sandbox.mounts.mount_points import mounted_here, visible_mounts
from bascule.sandbox.mounts.own_inodes import Planned, make_devices, plan, with_copies
from bascule.sandbox.mounts.path_checks import is_there
from bascule.sandbox.spec.box import Box, Mount
from bascule.sandbox.spec.engine import SharedInodes

PROC = "/proc"

UNMADE = "an overlay without root needs Linux 5.11, no mounts below the folder, and a file system that supports it"
NO_COPY = "neither a folder nor a file that can be copied"


@dataclass(frozen=True, slots=True)
class PrivateView:
    """A sandbox with inodes of its own, and the files and folders that each of its overlays is for."""

    box: Box
    site: Site
    served: tuple[tuple[str, ...], ...]
    planned: SharedInodes
    """Paths that are shared even if every overlay can be made."""

    def shared(self) -> SharedInodes:
        """Paths that the sandbox shares with others. Known once its first program runs."""
        numbers: list[int] = []
        reasons = self.planned.why
        with suppress(OSError, ValueError):
            numbers = [int(line) for line in Path(self.site.report).read_text().split()]
            reasons = "; ".join(filter(None, (reasons, UNMADE)))
        unmade = [path for number in numbers for path in self.served[number]]
        return SharedInodes(tuple(sorted({*self.planned.paths, *unmade})), reasons)


def private_view(box: Box, site: Site, *, root: bool) -> PrivateView:
    """The sandbox and its place with inodes of its own, as far as they can be prepared before it is made."""
    at = Path(site.at)
    for name in ("files", "own", "dev"):
        (at / name).mkdir()
    points = [point for point in mounted_here() if is_there(point)]
    mounts = visible_mounts(box, points)
    planned = with_copies(plan(mounts, points, parts=True), at / "own")
    folders = list(dict.fromkeys(each.folder for each in planned if each.folder))
    mounts = tuple(_placed(each, folders, site) for each in planned)
    (at / "empty").touch()
    site = replace(site, files=_own_files(site, at / "files"), overlays=tuple(folders), empty=str(at / "empty"))
    served = [tuple(each.mount.source for each in planned if each.folder == folder) for folder in folders]
    if root:
        # Other users cannot write to the settings of any /proc, so their sandboxes keep those of their own /proc.
        site = replace(site, overlays=(*folders, PROC), settings=f"{site.own}/{len(folders)}/sys")
        served.append((SETTINGS,))
    else:
        site = replace(site, settings="")
    shared = [each.mount.source for each in planned if each.way == "shared"]
    reasons = [NO_COPY] if shared else []
    if why := make_devices(at / "dev"):
        shared.append("/dev")
        reasons.append(f"/dev: {why}")
    else:
        site = replace(site, devices=str(at / "dev"))
    told = SharedInodes(tuple(shared), "; ".join(reasons))
    return PrivateView(replace(box, mounts=mounts), site, tuple(served), told)


def _placed(each: Planned, folders: list[str], site: Site) -> Mount:
    if not each.folder:
        return each.mount
    rest = each.mount.source[len(each.folder.rstrip("/")) :]
    return replace(each.mount, source=f"{site.own}/{folders.index(each.folder)}{rest}")


def _own_files(site: Site, folder: Path) -> dict[str, str]:
    """Copies of the files that are written for sandboxes: all sandboxes share the originals."""
    files: dict[str, str] = {}
    for number, (path, source) in enumerate(site.files.items()):
        (folder / str(number)).write_bytes(Path(source).read_bytes())
        files[path] = str(folder / str(number))
    return files
