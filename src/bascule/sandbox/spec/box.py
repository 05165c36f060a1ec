"""Sandbox as data: command, environment, mounts, links and resource limits. Every engine works from this
description."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bascule.core.sensitivity import Lane

WORKSPACE = "/workspace"
HOME = "/home/box"
"""A folder of the box's own, empty at its start and gone with it."""

HOUSE = "/run/bascule"
"""Where things of ours are seen inside: the first program, and sockets."""

INSIDE = f"{HOUSE}/inside"
"""Where the folder of the first program is seen."""

USER = 65532
"""Who a server is inside. Nobody on any system."""

PROXY_PORT = 3128
"""On the loopback of a box with a proxy: what HTTP_PROXY names."""

PROXY_FOLDER = f"{HOUSE}/egress"
"""What is mounted for the proxy: a folder of the box's own, read-only. A proxy that comes back makes its socket again,
and a socket that was mounted by itself would stay the old one."""

PROXY_SOCKET = f"{PROXY_FOLDER}/egress.sock"
RAISE_SOCKET = f"{HOUSE}/raise.sock"

DECOYS = f"{HOUSE}/decoys"
"""Folder of the host with a FIFO and a socket, in private lanes. Nothing must pass through them."""

RAISE_DESCRIPTOR = 3
"""File descriptor at which a kit server inherits a connection to the raise socket. In private lanes it could not open
one itself."""
LIVENESS_PIPE = f"{HOUSE}/runtime.pipe"
"""A FIFO with the runtime as its only writer, in a container: its end of file is the end of the runtime."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine, and where the box shows it."""

    source: str
    target: str
    writable: bool = False
    why: str = ""
    """In a word, for who looks: system, program, argument, folder, configured, prepared, workspace, ours."""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link that stands in the box."""

    path: str
    to: str
    """As it stands in the link: it may be relative."""


@dataclass(frozen=True, slots=True)
class Omitted:
    """A path that the command names and the box does not show."""

    path: str
    why: str


FileIdentity = tuple[int, int]
"""Device and inode of a file of the host."""

ABSENT: FileIdentity = (0, 0)
"""Stands for a file that does not exist."""


@dataclass(frozen=True, slots=True)
class MaskedPath:
    """A path inside a mount that the sandbox sees as an empty read-only file or folder."""

    path: str
    """As the sandbox sees it."""
    folder: bool
    why: str
    source: str
    """The path on the host."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a box may use up. Sizes are bytes."""

    memory: int
    cpus: float
    pids: int
    disk: int


@dataclass(frozen=True, slots=True)
class Box:
    """One box. Nothing here is looked up again: paths are whole, and the environment is all of it."""

    name: str
    """Unique among all boxes of this machine."""
    server: str
    lane: Lane
    argv: tuple[str, ...]
    """The server's own command as it is inside: what the first program becomes."""
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    mounts: tuple[Mount, ...]
    """In the order in which they are made: what stands later may lie in what stands before."""
    bounds: Bounds
    links: tuple[Link, ...] = ()
    """Links outside of all mounts: /bin where it is one, and those on the way to a program."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Small files that are there and on no disk, with what stands in them."""
    masks: tuple[MaskedPath, ...] = ()
    """Made after all mounts of the same depth: the state folder, files with credentials, sockets and FIFOs."""
    guarded: Mapping[str, FileIdentity] = field(default_factory=dict[str, FileIdentity])
    """Masked files of the host. If one is replaced, the kernel removes its mask, so the sandbox has to end."""
    unscanned: tuple[str, ...] = ()
    """Shown folders that were not searched completely for files to mask."""
    omitted: tuple[Omitted, ...] = ()
    python: str = ""
    """What runs the first program inside. Empty where the image is somebody else's."""
    proxied: bool = False
    """Whether there is a proxy's socket at PROXY_SOCKET, to be forwarded from PROXY_PORT."""
    image: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """For who looks at the engine: whose box it is. Never who the principal is in clear."""
