"""Collection of a sandbox's mounts and links while its layout is built, without duplicates."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePath

from bascule.sandbox.mounts.denylist import below, crowded, forbidden, too_wide
from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.path_checks import is_file, is_folder
from bascule.sandbox.mounts.secret_files import FOLDERS
from bascule.sandbox.mounts.symlinks import trail
from bascule.sandbox.spec.box import Link, Mount, Omitted


class View:
    """Collects mounts and links. What an earlier mount shows already is not mounted again."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._mounts: dict[str, Mount] = {}
        self._links: dict[str, Link] = {}
        self._omitted: dict[str, Omitted] = {}
        self._met: set[str] = set()
        self._chosen: dict[str, set[str]] = {}

    # As it stands

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Folders before what lies in them, each once."""
        ordered = sorted(self._mounts.values(), key=lambda mount: (len(PurePath(mount.target).parts), mount.target))
        kept: list[Mount] = []
        for mount in ordered:
            if not any(_shows(other, mount) for other in kept):
                kept.append(mount)
        return tuple(kept)

    @property
    def links(self) -> tuple[Link, ...]:
        """Those that no mount brings along."""
        mounts = self.mounts
        return tuple(
            link for link in self._links.values() if not any(below(link.path, mount.target) for mount in mounts)
        )

    @property
    def omitted(self) -> tuple[Omitted, ...]:
        return tuple(self._omitted.values())

    @property
    def collected(self) -> tuple[Mount, ...]:
        """All mounts, with those that an outer mount makes unnecessary."""
        return tuple(self._mounts.values())

    def chosen(self, real: str, *, by_mounts: bool) -> bool:
        """True if the operator names exactly this path of the host: under `mounts`, or also by the command."""
        reasons = self._chosen.get(real, set())
        return "configured" in reasons if by_mounts else bool(reasons)

    def has(self, path: str) -> bool:
        """Whether a path is there inside: in something that is shown, or on the way to it."""
        place = self._inside(path)
        return any(below(place, mount.target) or below(mount.target, place) for mount in self._mounts.values())

    def is_new(self, path: str) -> bool:
        """Whether something is met for the first time, so that it is looked through once."""
        new = path not in self._met
        self._met.add(path)
        return new

    # Adding to it

    def add(self, mount: Mount) -> None:
        """A mount as it is, unless something is mounted there already."""
        before = self._mounts.get(mount.target)
        if before is None or (mount.writable and not before.writable):
            self._mounts[mount.target] = mount

    def link(self, links: Iterable[Link]) -> None:
        for link in links:
            if not below(link.path, self.machine.state):
                self._links.setdefault(link.path, link)

    def place(self, path: str, why: str, *, writable: bool = False) -> None:
        """A file or folder under the name that it was given, wherever that leads outside."""
        real = os.path.realpath(path)
        self._chosen.setdefault(real, set()).add(why)
        self.add(Mount(real, self._inside(path), writable, why))

    def tree(self, path: str, why: str) -> bool:
        """A folder of one program's own, by its real path. False if it is not such a one."""
        if PurePath(path).name in FOLDERS:
            return False
        if crowded(path, self.machine) or forbidden(path, self.machine) or not is_folder(path):
            return False
        self.add(Mount(path, path, why=why))
        return True

    def file(self, path: str, why: str) -> None:
        """One file, by its real path."""
        if is_file(path) and not forbidden(path, self.machine) and path not in self.machine.config:
            self.add(Mount(path, path, why=why))

    def named(self, path: str, why: str) -> None:
        """What a command names: shown if it is there, and nothing that is never shown."""
        mode = Path(path).stat().st_mode
        real = os.path.realpath(path)
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            self._omit(path, "it is neither a file nor a folder")
        elif any(forbidden(each, self.machine) for each in (path, real)):
            self._omit(path, "it is the system's, the box's or Bascule's own")
        elif real in self.machine.config:
            self._omit(path, "Bascule loaded its configuration from it; name it under `mounts` if it is meant")
        elif any(too_wide(each, self.machine) for each in (path, real)):
            self._omit(path, "it is too wide to be shown unasked; name it under `mounts` if it is meant")
        else:
            self.place(path, why)

    def _omit(self, path: str, why: str) -> None:
        # What is there anyway, such as /usr, is not missed.
        if not any(below(self._inside(path), mount.target) for mount in self._mounts.values()):
            self._omitted.setdefault(path, Omitted(path, why))

    def _inside(self, path: str) -> str:
        """Where a path leads inside, if a link of the box's own is on its way."""
        followed = trail(path)
        place = followed.stops[0]
        for link, after in zip(followed.links, followed.stops[1:], strict=True):
            if link.path not in self._links and not any(below(link.path, each) for each in self._mounts):
                break
            place = after
        return place


def _shows(other: Mount, mount: Mount) -> bool:
    """Whether one mount shows what another would, in the same place and to the same use."""
    if other.writable != mount.writable or not below(mount.target, other.target):
        return False
    return mount.source == os.path.normpath(f"{other.source}/{mount.target[len(other.target) :]}")
