"""Masks of a sandbox: what its mounts would show and must not. These are the state folder, files with credentials of
other servers, and Unix sockets and FIFOs, through which a process of the host could be reached.

A bounded search with `os.scandir` finds them. It opens no file: opening a FIFO blocks, and opening a device may act.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.denylist import below
from bascule.sandbox.mounts.path_checks import is_folder, is_there
from bascule.sandbox.mounts.secret_files import FOLDERS, is_secret_file
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.spec.box import ABSENT, FileIdentity, MaskedPath, Mount

MOST_ENTRIES = 50_000
"""Entries of folders that are read for one sandbox. They take 0.04 s from memory and 0.2 s from a disk, so the median
raise stays below 0.3 s (0.25 s, of 0.19 s without the search)."""

MOST_PACKAGED = 10_000
"""The same for folders of packages. A Python environment with 150 packages has 40,000 entries, and no sockets."""

MOST_MASKS = 500
"""Masks of one sandbox. bubblewrap accepts 9,000 words in its command line, and a mask takes three."""

SEARCHED = frozenset({"program", "argument", "folder", "configured", "decoy"})
"""Mounts that are searched. The others are the system's, the agent session's workspace, fetched packages, or ours."""

PACKAGES = frozenset({"node_modules", "site-packages", "dist-packages"})
"""Folders with thousands of installed files. The search reads these and the objects of Git last, and only for sockets
and FIFOs: a file of a package holds no credentials of this host, regardless of its name."""

STATE = "the state folder of Bascule"
CONFIG = "Bascule loaded its configuration from it"
SECRETS = "by its name it holds credentials"
ENDPOINTS = {stat.S_IFSOCK: "a Unix socket", stat.S_IFIFO: "a FIFO"}


@dataclass(frozen=True, slots=True)
class VisibleMounts:
    """The mounts of a sandbox, and the masks on them."""

    mounts: tuple[Mount, ...]
    masks: tuple[MaskedPath, ...]
    guarded: dict[str, FileIdentity]
    unscanned: tuple[str, ...]


def masked(view: View, lane: Lane) -> VisibleMounts:
    """Raises `SandboxError` where something must be masked and cannot be."""
    search = _Search(view, lane)
    search.run()
    masks = tuple(search.outermost())
    if len(masks) > MOST_MASKS:
        raise SandboxError(
            f"{len(masks)} files must be hidden from the server, and the limit is {MOST_MASKS}",
            where="sandbox.mounts",
            evidence="\n".join(f"{mask.path}: {mask.why}" for mask in masks[:5]),
            fix="list the folders that the server needs under `sandbox.mounts`",
        )
    covered = {mask.path for mask in masks}
    mounts = sorted(search.mounts, key=lambda mount: (len(PurePath(mount.target).parts), mount.target))
    return VisibleMounts(
        mounts=tuple(mount for mount in mounts if mount.target not in covered),
        masks=masks,
        guarded=search.guarded(masks),
        unscanned=tuple(sorted(search.unscanned)),
    )


def holds_packages(folder: str) -> bool:
    path = PurePath(folder)
    return path.name in PACKAGES or path.parts[-2:] == (".git", "objects")


def identity(path: str) -> FileIdentity:
    try:
        known = os.lstat(path)
    except OSError:
        return ABSENT
    return known.st_dev, known.st_ino


def replaced(guarded: Mapping[str, FileIdentity]) -> str:
    """A guarded file that another one has replaced; empty if there is none. A removed file needs no mask."""
    for path, before in guarded.items():
        if identity(path) not in {before, ABSENT}:
            return path
    return ""


@dataclass(frozen=True, slots=True)
class _Root:
    """A folder or file of the host at which a search begins, in the mount that shows it."""

    source: str
    mount: Mount
    packaged: bool = False
    """Whether it is a folder with packages."""

    @property
    def target(self) -> str:
        return self.mount.target + self.source[len(self.mount.source) :]


@dataclass(slots=True)
class _Search:
    """One search through the mounts of a view."""

    view: View
    lane: Lane
    mounts: list[Mount] = field(init=False)
    unscanned: set[str] = field(default_factory=set[str])
    _found: dict[str, MaskedPath] = field(default_factory=dict[str, MaskedPath])
    """By the path in the sandbox."""
    _pending: deque[_Root] = field(init=False)
    _packages: deque[_Root] = field(default_factory=deque[_Root])
    _left: int = MOST_ENTRIES
    _targets: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.mounts = list(self.view.mounts)
        self._targets = {mount.target for mount in self.mounts}
        self._pending = deque(_Root(mount.source, mount) for mount in self.mounts if _is_searched(mount))

    def run(self) -> None:
        self._hide(self.view.machine.state, STATE, folder=True)
        for path in self.view.machine.config:
            if is_there(path) and not self.view.chosen(path, by_mounts=True):
                self._hide(path, CONFIG, folder=False)
        for roots, most in ((self._pending, MOST_ENTRIES), (self._packages, MOST_PACKAGED)):
            self._left = min(self._left, most)
            while roots:
                # A folder with fewer entries than its share leaves the rest to the others.
                share = self._left // len(roots)
                self._search(roots.popleft(), share)

    def outermost(self) -> Iterator[MaskedPath]:
        """The masks without those inside a masked folder, unless a mount lies between them."""
        folders = [mask for mask in self._found.values() if mask.folder]
        for mask in self._found.values():
            around = [each.path for each in folders if each is not mask and below(mask.path, each.path)]
            if all(any(_between(mount.target, mask.path, path) for mount in self.mounts) for path in around):
                yield mask

    def guarded(self, masks: tuple[MaskedPath, ...]) -> dict[str, FileIdentity]:
        found = {mask.source: identity(mask.source) for mask in masks}
        # A config file that does not exist yet has no mask. It must not be seen once it is there.
        absent = (path for path in self.view.machine.config if not is_there(path) and any(self._seen_at(path)))
        return found | dict.fromkeys(absent, ABSENT)

    # Masks

    def _hide(self, real: str, why: str, *, folder: bool) -> None:
        """Mask a path of the host under each name that the sandbox has for it."""
        if not _is_text(real):
            while not _is_text(real):
                real = os.path.dirname(real)  # noqa: PTH120 -- called for each path, and this is the fast one
            if any(below(mount.source, real) for mount in self.mounts):
                raise _unnameable(real, why)
            folder, why = True, f"{why}, and its name is not UTF-8, so that its folder is hidden"
        for target in self._seen_at(real):
            self._found.setdefault(target, MaskedPath(target, folder, why, real))
            if folder:
                self._keep_inside(target)

    def _seen_at(self, real: str) -> Iterator[str]:
        for mount in tuple(self.mounts):
            if below(real, mount.source):
                target = os.path.normpath(mount.target + real[len(mount.source.rstrip("/")) :])
                over = max((each for each in self.mounts if below(target, each.target)), key=lambda m: len(m.target))
                if over is mount:
                    yield target

    def _keep_inside(self, folder: str) -> None:
        """Keep paths visible that the command or the operator names inside a masked folder, each as a mount."""
        for mount in self.view.collected:
            if mount.target != folder and below(mount.target, folder) and mount not in self.mounts:
                self.mounts.append(mount)
                if _is_searched(mount):
                    self._pending.append(_Root(mount.source, mount))

    # The search

    def _search(self, root: _Root, room: int) -> None:
        """Read at most `room` entries, breadth first, and follow no link."""
        if not is_folder(root.source):
            with suppress(OSError):  # the mount itself fails
                self._hide_endpoint(root.source)
            return
        ahead = deque([root.source])
        while ahead:
            folder = ahead.popleft()
            name = PurePath(folder).name
            for entry in self._entries(folder, root):
                if room == 0:
                    self.unscanned.add(root.target)
                    return
                room, self._left = room - 1, self._left - 1
                if self._visit(entry, name, root):
                    ahead.append(entry.path)

    def _entries(self, folder: str, root: _Root) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                yield from entries
        except OSError:
            # A folder that can be passed and not listed: known names in it may be opened.
            if os.access(folder, os.X_OK):
                self.unscanned.add(root.target)

    def _visit(self, entry: os.DirEntry[str], folder: str, root: _Root) -> bool:
        """Mask an entry if necessary. Returns whether it is a folder that this search has to enter."""
        try:
            if entry.is_file(follow_symlinks=False):
                if not root.packaged and is_secret_file(entry.name, folder):
                    self._hide_secret(entry.path, folder=False)
            elif entry.is_dir(follow_symlinks=False):
                return self._enters(entry, root)
            elif not entry.is_symlink():
                self._hide_endpoint(entry.path)
            elif not root.packaged:
                self._hide_behind(entry, folder)
        except OSError:
            pass  # another process removed it
        return False

    def _enters(self, entry: os.DirEntry[str], root: _Root) -> bool:
        inner = _Root(entry.path, root.mount, packaged=True)
        # A mount inside this one is searched by itself, or not at all.
        if entry.path == self.view.machine.state or inner.target in self._targets:
            return False
        if root.packaged:
            return True
        if entry.name in FOLDERS and self._hide_secret(entry.path, folder=True):
            return False
        if holds_packages(entry.path):
            self._packages.append(inner)
            return False
        return True

    def _hide_secret(self, real: str, *, folder: bool) -> bool:
        if self.view.chosen(real, by_mounts=False):
            return False
        self._hide(real, SECRETS, folder=folder)
        return True

    def _hide_behind(self, link: os.DirEntry[str], folder: str) -> None:
        """Mask the file or folder that a symbolic link with such a name leads to."""
        hides_folder, hides_file = link.name in FOLDERS, is_secret_file(link.name, folder)
        if not (hides_folder or hides_file):
            return
        real = os.path.realpath(link.path)
        if is_folder(real):
            if hides_folder and not any(below(mount.source, real) for mount in self.mounts):
                self._hide_secret(real, folder=True)
        elif hides_file and is_there(real):
            self._hide_secret(real, folder=False)

    def _hide_endpoint(self, real: str) -> None:
        what = ENDPOINTS.get(stat.S_IFMT(os.lstat(real).st_mode))
        named = self.view.chosen(real, by_mounts=True)
        if what is not None and not (named and self.lane is Lane.OPEN):
            only = ", which `mounts` shows in the open lane only" if named else ""
            self._hide(real, f"it is {what} of the host{only}", folder=False)


def _is_searched(mount: Mount) -> bool:
    """Python itself, with its library beside it, holds nothing of this host."""
    if mount.why == "program" and any(Path(mount.source).glob("lib/python3*/os.py")):
        return False
    return mount.why in SEARCHED


def _between(target: str, mask: str, folder: str) -> bool:
    return target != folder and below(target, folder) and below(mask, target)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unnameable(folder: str, why: str) -> SandboxError:
    return SandboxError(
        f"a file in {folder} cannot be hidden from the server",
        where="sandbox",
        evidence=why,
        cause="its name is not UTF-8, and a container engine accepts no other names",
        fix="rename the file, or list the folders that the server needs under `sandbox.mounts`",
    )
