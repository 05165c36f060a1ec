"""Container of a sandbox, completed with data of engine, host and runtime: image, mounts and those below them, user,
network and owner of the workspace."""

import asyncio
import json
import os
import platform
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from bascule.core.errors import SandboxError
from bascule.core.json_types import JsonObject
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.availability import Standings
from bascule.sandbox.docker.bundled_python import carried
from bascule.sandbox.docker.container_spec import NO_NETWORK, TMP, Making, body
from bascule.sandbox.docker.host_firewall import Shutter, shutter
from bascule.sandbox.docker.image import image_of, volumes_of
from bascule.sandbox.docker.labels import owned_by
from bascule.sandbox.docker.network import OpenNetwork
from bascule.sandbox.docker.remove import remove_container
from bascule.sandbox.mounts.denylist import below
from bascule.sandbox.mounts.system import written_files
from bascule.sandbox.owner import Owner
from bascule.sandbox.spec.box import HOME, HOUSE, INSIDE, USER, WORKSPACE, Box, Mount
from bascule.sandbox.spec.entry_command import Forwarding, Mode, entry_argv
from bascule.sandbox.spec.seccomp import docker_profile

NOT_FILES = {
    "autofs", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "mqueue",
    "nsfs", "proc", "pstore", "securityfs", "sysfs", "tracefs",
}  # fmt: skip
"""Kinds of mounts that are windows into the kernel. They are for nobody in a box."""

MOUNTINFO = Path("/proc/self/mountinfo")


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
    """Where files are mounted on this machine, as we see it."""
    try:
        lines = MOUNTINFO.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    return [point for line in lines if (point := mount_point(line)) is not None]


def mount_point(line: str) -> str | None:
    """The place in one line of mountinfo, if what is mounted there are files."""
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


def hand_over(folder: Path, uid: int, gid: int) -> None:
    """Changes the owner of everything in a folder. Only root can, and has to: the container's user is another user on
    the host. No link is followed, and a file with a second hard link is left alone: it may be more than the agent
    session's."""
    os.chown(folder, uid, gid, follow_symlinks=False)
    for _, folders, files, inside in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            _give(name, inside, uid, gid)


def _give(name: str, inside: int, uid: int, gid: int) -> None:
    try:
        known = os.stat(name, dir_fd=inside, follow_symlinks=False)
        shared = stat.S_ISREG(known.st_mode) and known.st_nlink > 1
        if not shared and (known.st_uid, known.st_gid) != (uid, gid):
            os.chown(name, uid, gid, dir_fd=inside, follow_symlinks=False)
    except FileNotFoundError:
        pass  # it was removed meanwhile


PYTHON = f"{HOUSE}/python"
"""Where a box of a foreign image finds the Python that it is given."""


@dataclass(frozen=True, slots=True)
class Furnished:
    """All that is needed to make the container of one box, and to run its server there."""

    body: JsonObject
    network: str
    argv: tuple[str, ...]
    """How the server is run: by the first program, which looks again and becomes it."""
    env: dict[str, str]
    shutter: Shutter


@dataclass(frozen=True, slots=True)
class _Dressed:
    """A box with all its mounts, and what it is made from."""

    box: Box
    python: tuple[str, ...]
    """How the Python is started that runs our programs."""
    image: str
    ours: str
    """One of our own, where that is somebody else's."""
    own: tuple[Mount, ...]
    """Which mounts our programs need."""
    volumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Furnishing:
    """What all boxes of one owner on one engine have in common."""

    engine: Engine
    owner: Owner
    standings: Standings
    network: OpenNetwork
    path: str = ""
    """Where programs are looked for on this machine. In an image that says nothing."""
    left: set[str] = field(default_factory=set[str])
    """Containers in which nothing runs, and which the engine could not be asked to remove."""

    async def tidy(self) -> None:
        """Remove what was left. What cannot be, stays for the next time."""
        for container in tuple(self.left):
            with suppress(SandboxError):
                await remove_container(self.engine, container, within=0)
                self.left.discard(container)

    async def of(self, box: Box) -> Furnished:
        standing = await self.standings.now()
        if standing.why_not:
            raise SandboxError("no container can be made here", where="box", evidence=standing.why_not)
        await self.tidy()
        uid, gid = user()
        found = with_mounts_below(box.mounts, mounted_here())
        box = replace(box, mounts=tuple(mount for mount in found if mount in box.mounts or not _is_masked(mount, box)))
        dressed = await (self._plain(box, uid) if box.image is None else self._foreign(box, box.image))
        box = dressed.box
        await self._hand_over(box, uid, gid)
        making = Making(
            image=dressed.image,
            first=_first(box, dressed.python, "stay", "start"),
            user=f"{uid}:{gid}",
            seccomp=json.dumps(docker_profile(platform.machine())),
            network=await self.network.ready() if box.lane is Lane.OPEN else NO_NETWORK,
            labels=owned_by(self.owner),
            volumes=dressed.volumes,
            empty=await asyncio.to_thread(_empty_file, self.owner.folder),
            userns="host" if standing.remapped else "",
        )
        asked = body(box, making)
        become = _first(box, dressed.python, "become", "wait")
        second = shutter(asked, dressed.ours, dressed.python, dressed.own)
        return Furnished(asked, making.network, become, self._env(box), second)

    async def _plain(self, box: Box, uid: int) -> "_Dressed":
        """This machine's own programs, in an image of ours."""
        known = written_files(box.lane, uid)
        files = {path: known.get(path, text) for path, text in box.files.items()}
        box = replace(box, files=files, **await asyncio.to_thread(_without_links_in_memory, box))
        image = await image_of(self.engine, box)
        own = (mount for mount in box.mounts if mount.why in {"system", "program"} or mount.target == INSIDE)
        return _Dressed(box, (box.python,), image, image, tuple(mount for mount in own if not mount.writable))

    async def _foreign(self, box: Box, image: str) -> "_Dressed":
        """Somebody's image, with our Python in it."""
        volumes = await volumes_of(self.engine, image)
        inside = next(mount for mount in box.mounts if mount.target == INSIDE)
        made = await asyncio.to_thread(carried, self.owner.state, Path(inside.source))
        python = Mount(str(made.folder), PYTHON, why="ours")
        ours = await image_of(self.engine, replace(box, links=(), files={}))
        dressed = replace(box, mounts=(*box.mounts, python))
        return _Dressed(dressed, made.argv(PYTHON), image, ours, (inside, python), volumes)

    async def _hand_over(self, box: Box, uid: int, gid: int) -> None:
        for mount in box.mounts:
            if mount.target == WORKSPACE and mount.writable and os.geteuid() == 0:
                await asyncio.to_thread(hand_over, Path(mount.source), uid, gid)

    def _env(self, box: Box) -> dict[str, str]:
        env = dict(box.env)
        if box.image is not None and env.get("PATH") == self.path:
            del env["PATH"]
        return env


def _is_masked(mount: Mount, box: Box) -> bool:
    return any(PurePosixPath(mount.target).is_relative_to(mask.path) for mask in box.masks)


def _empty_file(folder: Path) -> str:
    path = folder / "empty"
    path.touch()
    # The user of a container is another one, and the umask may be 077.
    path.chmod(0o444)
    return str(path)


def user() -> tuple[int, int]:
    """Who everything is inside: whoever we are, to whom the files belong outside too; or nobody, if we are root."""
    return (os.geteuid(), os.getegid()) if os.geteuid() != 0 else (USER, USER)


def _without_links_in_memory(box: Box) -> dict[str, Any]:
    """Links in folders that are made anew with each container cannot come with its image. What they lead to is mounted
    in their place."""
    lost = {link for link in box.links if any(PurePosixPath(link.path).is_relative_to(own) for own in (TMP, HOME))}
    mounts = [Mount(os.path.realpath(link.path), link.path, why="program") for link in box.links if link in lost]
    shown = tuple(mount for mount in mounts if Path(mount.source).exists())
    masks = (
        replace(mask, path=f"{mount.target}{mask.source[len(mount.source) :]}")
        for mount in shown
        for mask in box.masks
        if below(mask.source, mount.source)
    )
    return {
        "links": tuple(link for link in box.links if link not in lost),
        "mounts": (*box.mounts, *shown),
        "masks": (*box.masks, *masks),
    }


def _first(box: Box, python: tuple[str, ...], mode: Mode, forwarding: Forwarding) -> tuple[str, ...]:
    return (*python, *entry_argv(box, mode, forwarding=forwarding)[1:])
