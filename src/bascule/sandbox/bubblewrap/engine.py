"""Sandbox engine on bubblewrap: Linux namespaces of the host's kernel, without a daemon."""

import asyncio
import logging
import os
import platform
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from bascule.config.model.sandbox import Sandbox
from bascule.core.errors import SandboxError
from bascule.core.principal import Nobody
from bascule.core.sensitivity import Lane
from bascule.files.regular_file import read_regular
from bascule.sandbox.bubblewrap.argv import (
    NAMESERVERS,
    NOT_MADE,
    NetworkKind,
    Site,
    Tools,
    bwrap_argv,
    has_own_init,
    limits,
    without_cgroups,
)
from bascule.sandbox.bubblewrap.cgroups import Cgroup, Cgroups
from bascule.sandbox.bubblewrap.own_inodes import PrivateView, private_view
from bascule.sandbox.mounts.host import Machine, this_machine
from bascule.sandbox.mounts.layout import laid_out
from bascule.sandbox.mounts.own_inodes import is_private
from bascule.sandbox.owner import Owner
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box, FileIdentity
from bascule.sandbox.spec.engine import WHOLE, Ended, SharedInodes
from bascule.sandbox.spec.entry_command import Mode, entry_argv
from bascule.sandbox.spec.launch_request import Order
from bascule.sandbox.spec.run_command import ran
from bascule.sandbox.spec.seccomp import ARCHITECTURES, filter_program

BOXES = "boxes"
"""In the folder of an owner: what there is of its boxes outside, each in a folder by its name."""

NEEDED = ("sh", "mount", "mkdir", "mkfifo", "cat", "unshare", "bwrap")
NETWORKS: tuple[NetworkKind, ...] = ("pasta", "slirp4netns")
"""What gives a box a network of its own, best first."""

FOLDERS = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/run/current-system/sw/bin"
"""Where programs that a box is made with are looked for. What a server's PATH names is never run outside."""

MASKED = (
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/kallsyms",
    "/proc/locks",
)

PROVING = 30.0
"""Seconds for a box that only proves itself. It takes a tenth of one."""

CAP_SYS_ADMIN = 21
"""The capability to mount, by its number."""

_log = logging.getLogger("bascule.sandbox")

_FORBIDDEN = "Operation not permitted", "No space left on device", "Permission denied"
"""What the system says to who makes namespaces and may not: it is forbidden, or there are too many."""


@dataclass(frozen=True, slots=True)
class Network:
    """What open boxes reach this machine's network by."""

    kind: NetworkKind
    why: str = ""
    """Why it is the host's own, if it is."""


class Bubblewrap:
    """Makes boxes that are namespaces. They belong to one owner."""

    kind = "bubblewrap"

    def __init__(self, owner: Owner, environ: Mapping[str, str], machine: Machine | None = None) -> None:
        self._owner = owner
        self._folder = owner.folder / BOXES
        self._machine = machine or this_machine(environ)
        self._tools = _tools()
        self.cgroups = Cgroups()
        self._proving = asyncio.Lock()
        self._why_not: str | None = None
        self._network: Network | None = None
        self.shared = SharedInodes()
        """The inodes of the system that sandboxes of private lanes share. Known once a sandbox was proven."""

    async def why_not(self) -> str:
        """Why no box can be made here, in a sentence; empty if one can. Proven once, by making one."""
        async with self._proving:
            if self._why_not is None:
                self._why_not = self._missing() or await self._proven_sealed()
                self.cgroups.sweep()
            return self._why_not

    async def network(self) -> Network:
        """How open boxes reach the network. Proven once. Where it is the host's own, so is its loopback."""
        if reason := await self.why_not():
            return Network("none", reason)
        async with self._proving:
            if self._network is None:
                self._network = await self._best_network()
            return self._network

    def share_host_network(self, why: str) -> None:
        """From now on open boxes are on this machine's own network, its loopback included. No other lane is touched."""
        self._network = Network("host", why)

    async def shares_host_network(self) -> str:
        """Why open boxes are on this machine's own network, its loopback included; empty if they are not."""
        return (await self.network()).why

    @property
    def loosely_bounded(self) -> str:
        """Why boxes are held by limits on each of their processes, not on the box as a whole; empty if they are not."""
        return self.cgroups.why_not

    def bounds(self) -> Mapping[str, str]:
        return without_cgroups(root=self._tools.root) if self.loosely_bounded else WHOLE

    def box(self, order: Order) -> "BubbleBox":
        return BubbleBox(self, order)

    async def run(self, box: Box, timeout: float) -> Ended:
        """Run the box's command to its end, and leave nothing of the box."""
        await self._certain()
        made = await self.made(box, "become")
        try:
            ended = await ran(made.command, timeout)
        finally:
            await made.end()
        if ended.code == NOT_MADE:
            raise _not_made(ended.output)
        return ended

    async def laid_out(self, order: Order) -> Box:
        await self._certain()
        return await asyncio.to_thread(self._laid_out, order, f"{order.server}-{order.lane}-{secrets.token_hex(6)}")

    def _laid_out(self, order: Order, name: str) -> Box:
        """The layout. It is made in a thread, since it reads many files, also of network disks."""
        return laid_out(order, replace(self._machine, decoys=str(self._owner.decoys())), name)

    async def made(self, box: Box, mode: Mode) -> "Made":
        """All that a box needs outside, and the command that makes it."""
        kind: NetworkKind = (await self.network()).kind if box.lane is Lane.OPEN else "none"
        return await self._made(box, mode, kind)

    async def _made(self, box: Box, mode: Mode, kind: NetworkKind) -> "Made":
        site, view = self._site(box, kind), None
        if is_private(box.lane):
            view = await asyncio.to_thread(private_view, box, site, root=self._tools.root)
            box, site = view.box, view.site
        cgroup = self.cgroups.made(box.name, box.bounds)
        site = replace(site, cgroups=cgroup.joined_by if cgroup is not None else ())
        bounded = cgroup is not None
        first = entry_argv(box, mode, limits=limits(box, bounded=bounded), init=has_own_init(box))
        argv = bwrap_argv(box, self._tools, site, first)
        return Made(Command(argv, box.env, "/"), site, cgroup, view)

    def _site(self, box: Box, kind: NetworkKind) -> Site:
        place = self._folder / "place"
        place.mkdir(parents=True, exist_ok=True)
        at = self._folder / box.name
        at.mkdir()
        files = {**box.files, **_names(kind)}
        return Site(
            at=str(at),
            place=str(place),
            filter=self._written(filter_program(platform.machine())),
            empty=self._written(b""),
            network=kind,
            files={path: self._written(text.encode()) for path, text in files.items()},
        )

    def _written(self, data: bytes) -> str:
        """A file with this in it, the same for all boxes."""
        path = self._folder / sha256(data).hexdigest()
        if not path.exists():
            # Somebody may open it as soon as it is there.
            unfinished = path.with_suffix(f".{secrets.token_hex(4)}")
            unfinished.write_bytes(data)
            unfinished.chmod(0o444)
            unfinished.rename(path)
        return str(path)

    # What can be done here

    async def _certain(self) -> None:
        if reason := await self.why_not():
            raise SandboxError("no box can be made here", where="bubblewrap", evidence=reason, fix=_remedy(reason))

    def _missing(self) -> str:
        if platform.system() != "Linux":
            return "bubblewrap is of Linux alone"
        if platform.machine() not in ARCHITECTURES:
            return f"there is no filter of system calls for {platform.machine()}"
        lacking = [name for name in NEEDED if name not in self._tools.paths]
        return f"not installed: {', '.join(lacking)}" if lacking else ""

    async def _proven_sealed(self) -> str:
        """Prove a sealed sandbox; where root may not mount, as in many containers, one of a user namespace."""
        reason = await self._proven(Lane.SEALED, "none")
        if reason and self._tools.mounts:
            self._tools = replace(self._tools, mounts=False)
            reason = await self._proven(Lane.SEALED, "none")
        if not reason and self.shared.paths:
            _log.info(
                "sandboxes of private lanes share inodes with others: %s (%s)",
                ", ".join(self.shared.paths),
                self.shared.why,
            )
        return reason

    async def shared_inodes(self, order: Order) -> SharedInodes:
        await self._certain()
        reason, shared = await self._proof(order, "none")
        if reason:
            raise _not_made(reason)
        return shared

    async def _proven(self, lane: Lane, kind: NetworkKind) -> str:
        """What is wrong with a box that is made as a server's would be, and only proves itself."""
        command = Command((self._tools.paths["cat"],), {"PATH": FOLDERS})
        order = Order("proof", lane, Nobody("bascule", "proof"), command, Sandbox())
        reason, shared = await self._proof(order, kind)
        if is_private(lane):
            self.shared = shared
        return reason

    async def _proof(self, order: Order, kind: NetworkKind) -> tuple[str, SharedInodes]:
        box = await asyncio.to_thread(self._laid_out, order, f"proof-{order.lane}-{secrets.token_hex(6)}")
        made = await self._made(box, "prove", kind)
        try:
            ended = await ran(made.command, PROVING)
            shared = made.shared()
        except SandboxError as error:
            return f"{error.message} {error.evidence}".strip(), SharedInodes()
        finally:
            await made.end()
        return "" if ended.code == 0 else ended.output.strip() or f"it ended with {ended.code}", shared

    async def _best_network(self) -> Network:
        reasons: list[str] = []
        for kind in NETWORKS:
            if kind not in self._tools.paths:
                reasons.append(f"{kind} is not installed")
            elif reason := await self._proven(Lane.OPEN, kind):
                reasons.append(f"{kind}: {reason.splitlines()[-1]}")
            else:
                return Network(kind)
        return Network("host", "; ".join(reasons))


@dataclass(slots=True)
class Made:
    """What there is of a box outside of it."""

    command: Command
    site: Site
    cgroup: Cgroup | None
    view: PrivateView | None = None

    def shared(self) -> SharedInodes:
        """The inodes that it shares with other sandboxes. Known once its first program runs."""
        return self.view.shared() if self.view is not None else SharedInodes()

    async def end(self) -> None:
        """End what runs in it, and remove what is there of it."""
        folder = _ended(Path(self.site.at))
        strike(folder)
        if self.cgroup is not None:
            await self.cgroup.end()
        shutil.rmtree(folder, ignore_errors=True)


def _ended(folder: Path) -> Path:
    """The folder under a name by which a box that is about to begin does not find it."""
    with suppress(FileNotFoundError):
        return folder.rename(folder.with_suffix(".ended"))
    return folder


def strike(folder: Path) -> bool:
    """Kill the process around the box, if it still is that one. The kernel ends all in the box with it. False if there
    is none."""
    with suppress(OSError, ValueError):
        pid = int(read_regular(folder / "pid", 32))
        handle = os.pidfd_open(pid)
        try:
            if folder.stem.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        finally:
            os.close(handle)
    return False


@dataclass(slots=True)
class BubbleBox:
    """One box that was ordered."""

    engine: Bubblewrap
    order: Order
    guarded: Mapping[str, FileIdentity] = field(default_factory=dict[str, FileIdentity])
    _made: list[Made] = field(default_factory=list[Made])

    async def open(self) -> Command:
        await self.close()
        box = await self.engine.laid_out(self.order)
        self.guarded = box.guarded
        made = await self.engine.made(box, "become")
        self._made.append(made)
        return made.command

    async def close(self) -> None:
        while self._made:
            await self._made.pop().end()


def _names(kind: NetworkKind) -> dict[str, str]:
    """How names are looked up in each kind of network."""
    if kind == "none":
        return {}
    if kind in NAMESERVERS:
        return {"/etc/resolv.conf": f"nameserver {NAMESERVERS[kind]}\n"}
    try:
        return {"/etc/resolv.conf": Path("/etc/resolv.conf").read_text()}
    except OSError:
        return {}


def _tools() -> Tools:
    found = {name: shutil.which(name, path=FOLDERS) for name in (*NEEDED, *NETWORKS)}
    paths = {name: path for name, path in found.items() if path}
    return Tools(
        paths=paths,
        disables_userns="bwrap" in paths and "--disable-userns" in _said(paths["bwrap"], "--help"),
        root=os.geteuid() == 0,
        mounts=os.geteuid() == 0 and bool(_capabilities() >> CAP_SYS_ADMIN & 1),
        masked=tuple(path for path in MASKED if Path(path).exists()),
    )


def _capabilities() -> int:
    """The effective capabilities of this process, as a set of bits."""
    with suppress(OSError, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    return 0


def _said(*argv: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=10).stdout
    return ""


def _not_made(said: str) -> SandboxError:
    return SandboxError("the box could not be made", where="bubblewrap", evidence=said.strip(), fix=_remedy(said))


def _remedy(said: str) -> str:
    if "not installed" in said:
        return "install bubblewrap and util-linux (Debian: apt-get install bubblewrap util-linux)"
    if any(each in said for each in _FORBIDDEN):
        return (
            "allow namespaces to this user: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 "
            "kernel.apparmor_restrict_unprivileged_userns=0; in a container, they must be allowed to the container"
        )
    return "`bascule doctor` shows what this machine lacks"
