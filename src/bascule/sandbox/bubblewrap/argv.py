"""bubblewrap command line of a sandbox: a chain of programs, each of which replaces itself with the next.

    sh        writes its pid to a file, and joins the sandbox's cgroups
    sh        starts pasta or slirp4netns for a network namespace, if the sandbox gets one
    unshare   creates the user and mount namespaces, and the network namespace of the line before
    sh        mounts the sandbox's tmpfs, with a size limit, and opens the seccomp filter
    sh        mounts overlays of read-only folders, for private lanes: inodes of their own
    bwrap     creates the sandbox
    python    entry program, which becomes the server

Secrets stay in the environment, because every user of the host can read command lines. The environment is the server's
own from the first program on, so programs have absolute paths, and the scripts are always the same.

For private lanes root mounts the overlays before it creates the user namespace: in one, the kernel refuses overlays of
folders with mounts below them, and a new /proc.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.own_inodes import DEVICES
from bascule.sandbox.spec.box import HOME, USER, Box, MaskedPath, Mount
from bascule.sandbox.spec.engine import NOT_BOUNDED, WHOLE

NetworkKind = Literal["none", "host", "pasta", "slirp4netns"]
"""What a box is given to reach: nothing, all that this machine reaches, or that without this machine itself."""

NAMESERVERS = {"pasta": "169.254.1.1", "slirp4netns": "10.0.2.3"}
"""Where names are asked for in a network of the box's own, whatever this machine's own nameserver is."""

NOT_MADE = 96
"""The exit code of a box that could not be made."""

PER_FILE = 4096
"""Bytes of the disk for which one file may be made. Files take memory even if they are empty."""

SETTINGS = "/proc/sys"
"""Whom the kernel takes for root may write to these in every box, and so leave it."""

FILTER = 3
"""The file descriptor with the filter of system calls."""

JOIN = f"""echo $$ >"$1" && [ -e "$1" ] || exit {NOT_MADE}
shift
while [ "$1" != -- ]; do echo 0 >"$1" || exit {NOT_MADE}; shift; done
shift
exec "$@"
"""
"""A box that was ended before it began has no folder any more. One whose folder goes in the middle is either known by
its number, or finds that out."""

_NETWORK = f"""mkfifo=$1 program=$2 at=$3
shift 3
"$mkfifo" -m 600 "$at/there" "$at/ready" || exit {NOT_MADE}
(
    exec </dev/null >"$at/log" 2>&1
    read -r there <"$at/there"
    %s
) &
exec "$@"
"""

_PASTA = (
    '"$program" --quiet %s--config-net --no-map-gw --tcp-ports none --udp-ports none --tcp-ns none --udp-ns none '
    f"--dns-forward {NAMESERVERS['pasta']} "
    '--userns "/proc/$$/ns/user" --netns "/proc/$$/ns/net" && echo ready >"$at/ready" || echo >"$at/ready"'
)
"""Nothing of this machine is forwarded to the box, and its address there is the same as outside, so that this machine
cannot be reached by it either. As root it would else become nobody, who has no say in namespaces of root's."""

_SLIRP = (
    'exec "$program" --configure --mtu=65520 --disable-host-loopback --ready-fd=8 --netns-type=path '
    '--userns-path="/proc/$$/ns/user" "/proc/$$/ns/net" tap0 8>"$at/ready"'
)

MOUNT = f"""mount=$1 mkdir=$2 cat=$3 place=$4 options=$5 filter=$6 at=$7
shift 7
if [ -n "$at" ]; then
    echo >"$at/there"
    read -r ready <"$at/ready"
    [ -n "$ready" ] || {{ "$cat" "$at/log" >&2; exit {NOT_MADE}; }}
fi
"$mount" -t tmpfs -o "$options" box "$place" &&
    "$mkdir" -m 1777 "$place/tmp" "$place/shm" &&
    "$mkdir" -m 700 "$place/home" &&
    "$mount" -o bind,noexec,nosuid,nodev "$place/tmp" "$place/tmp" || exit {NOT_MADE}
exec {FILTER}<"$filter" || exit {NOT_MADE}
exec "$@"
"""

OVERLAY = f"""mount=$1 mkdir=$2 own=$3 report=$4 count=$5
shift 5
folders=empty number=0
while [ "$number" -lt "$count" ]; do folders="$folders $number" number=$((number + 1)); done
"$mkdir" -m 755 "$own" && cd "$own" && "$mkdir" $folders && exec 9<empty || exit {NOT_MADE}
overlay() {{
    case "$1" in
    /proc) "$mount" -t proc proc "$2" ;;
    *) cd "$1" && "$mount" -t overlay -o ro,nosuid,nodev,lowerdir=/proc/self/fd/9:. overlay "$2" ;;
    esac
}}
number=0
while [ "$1" != -- ]; do
    if ! overlay "$1" "$own/$number" 2>>"$report.log"; then
        "$mount" --rbind "$1" "$own/$number" && echo $number >>"$report" || exit {NOT_MADE}
    fi
    shift
    number=$((number + 1))
done
shift
cd /
exec "$@" 9<&-
"""
"""Overlays have a lower layer only, and an empty one, since the kernel wants two. They are named without their paths,
in which commas and colons would have to be escaped. A folder of which no overlay can be made is mounted as it is, and
its number is reported."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Programs of this machine that a box is made with, by their whole paths, and what is known of them."""

    paths: Mapping[str, str]
    """By name: sh, mount, mkdir, mkfifo, cat, unshare, bwrap; and pasta or slirp4netns, where there is one."""
    disables_userns: bool = True
    """Whether this bubblewrap can keep a box from making users of its own. The filter does so, too."""
    root: bool = False
    mounts: bool = False
    """True if this process may mount outside of a user namespace."""
    masked: tuple[str, ...] = ()
    """What the kernel would tell of this machine, and does not have to."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where on this machine one box is made."""

    at: str
    """The folder with its own files."""
    place: str
    """An empty folder. What is mounted there is seen by the box alone."""
    filter: str
    empty: str = ""
    """An empty file, for masks."""
    network: NetworkKind = "none"
    cgroups: tuple[str, ...] = ()
    """Files that a process joins a cgroup by."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Small files of the box, and where they lie outside."""
    overlays: tuple[str, ...] = ()
    """Folders of the host that are mounted as overlays, each in `own` under its number. /proc is a new mount."""
    devices: str = ""
    """The folder with device nodes of its own. Empty: the nodes are those of the host."""
    settings: str = SETTINGS
    """The folder with the kernel's settings. Empty: the sandbox has those of its own /proc."""

    @property
    def own(self) -> str:
        return f"{self.place}/own"

    @property
    def report(self) -> str:
        """The file with the numbers of overlays that could not be made."""
        return f"{self.at}/shared"

    @property
    def pid(self) -> str:
        return f"{self.at}/pid"


def bwrap_argv(box: Box, tools: Tools, site: Site, first: Sequence[str]) -> tuple[str, ...]:
    """The command that makes a box and runs `first` in it."""
    path = tools.paths
    made_by = (path["sh"], "-c", JOIN, box.name, site.pid, *site.cgroups, "--")
    own = site.network in NAMESERVERS
    net = (path["sh"], "-c", network_script(site.network, root=tools.root), box.name) if own else ()
    with_net = (*net, path["mkfifo"], path[site.network], site.at) if own else ()
    apart = (path["unshare"], "-r", "-m", *(("-n",) if own else ()), "--")
    before, after = apart, ()
    if site.overlays and tools.mounts:
        before, after = (path["unshare"], "-m", "--"), (path["unshare"], "-r", "--")
    overlays = (path["mount"], path["mkdir"], site.own, site.report, str(len(site.overlays)), *site.overlays, "--")
    overlaid = (path["sh"], "-c", OVERLAY, box.name, *overlays) if site.overlays else ()
    options = f"size={box.bounds.disk},nr_inodes={max(1024, box.bounds.disk // PER_FILE)},mode=0755,nosuid,nodev"
    given = (path["mount"], path["mkdir"], path["cat"], site.place, options, site.filter, site.at if own else "")
    mounted = (path["sh"], "-c", MOUNT, box.name, *given)
    inside = (path["bwrap"], *_box(box, tools, site), "--", *first)
    return (*made_by, *with_net, *before, *mounted, *overlaid, *after, *inside)


def network_script(kind: NetworkKind, *, root: bool) -> str:
    """How a network of the box's own is made, beside it."""
    return _NETWORK % (_PASTA % ("--runas 0 " if root else "") if kind == "pasta" else _SLIRP)


def _box(box: Box, tools: Tools, site: Site) -> Iterator[str]:
    yield from ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
    if site.network == "none":
        yield "--unshare-net"
    if tools.disables_userns:
        yield "--disable-userns"
    yield from ("--uid", str(USER), "--gid", str(USER), "--hostname", "box", "--cap-drop", "ALL")
    yield from ("--die-with-parent", "--new-session", "--seccomp", str(FILTER))
    if has_own_init(box):
        yield "--as-pid-1"
    yield from _windows(tools, site)
    yield from ("--bind", f"{site.place}/tmp", "/tmp", "--bind", f"{site.place}/home", HOME)  # noqa: S108
    for link in box.links:
        yield from ("--symlink", link.to, link.path)
    for path, source in site.files.items():
        yield from ("--ro-bind", source, path)
    yield from _mounted(box, site.empty)
    yield from ("--remount-ro", "/", "--chdir", "/")


def has_own_init(box: Box) -> bool:
    """In private lanes the entry program is the first process instead of bubblewrap's own, which the server could write
    to and which runs without the second filter."""
    return box.lane is not Lane.OPEN


def _windows(tools: Tools, site: Site) -> Iterator[str]:
    """The sandbox's own /proc and /dev."""
    yield from ("--proc", "/proc")
    if site.settings:
        yield from ("--ro-bind", site.settings, SETTINGS)
    for path in tools.masked:
        yield from ("--ro-bind", f"{site.devices or '/dev'}/null", path)
    yield from ("--dev", "/dev", "--bind", f"{site.place}/shm", "/dev/shm")  # noqa: S108
    for name in DEVICES if site.devices else ():
        yield from ("--dev-bind", f"{site.devices}/{name}", f"/dev/{name}")
    yield from ("--remount-ro", "/dev")


def _mounted(box: Box, empty: str) -> Iterator[str]:
    for shown in sorted((*box.mounts, *box.masks), key=_depth):
        yield from _shown(shown, empty)
    # After all mounts: a mount inside a masked folder needs a mount point there.
    for mask in box.masks:
        if mask.folder:
            yield from ("--remount-ro", mask.path)


def _depth(shown: Mount | MaskedPath) -> int:
    return len(PurePath(shown.path if isinstance(shown, MaskedPath) else shown.target).parts)


def _shown(shown: Mount | MaskedPath, empty: str) -> tuple[str, ...]:
    if isinstance(shown, Mount):
        return ("--bind" if shown.writable else "--ro-bind", shown.source, shown.target)
    return ("--size", str(PER_FILE), "--tmpfs", shown.path) if shown.folder else ("--ro-bind", empty, shown.path)


def without_cgroups(*, root: bool) -> dict[str, str]:
    """The extent of each bound where there is no cgroup. `RLIMIT_AS`, the only limit that counts shared mappings, would
    end programs that reserve address space, such as Node."""
    exempt = f"{NOT_BOUNDED}: the kernel exempts processes of root from RLIMIT_NPROC, also in a user namespace"
    return {
        **WHOLE,
        "memory": f"each process by itself; {NOT_BOUNDED}: all together, and shared memory (memfd, System V, mappings)",
        "pids": exempt if root else WHOLE["pids"],
        "cpus": f"{NOT_BOUNDED}: only a cgroup bounds them",
    }


def limits(box: Box, *, bounded: bool) -> dict[str, int]:
    """The system's limits that a server is held by. Where cgroups bound it as a whole, these are few."""
    always = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": box.bounds.disk}
    if bounded:
        return always
    return {**always, "RLIMIT_DATA": box.bounds.memory, "RLIMIT_NPROC": box.bounds.pids}
