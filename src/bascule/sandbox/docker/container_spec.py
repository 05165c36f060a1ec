"""Container specification of a sandbox: the body of `POST /containers/create`. Pure; the server's command and
environment, and so its secrets, are not in it, but go with each exec."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bascule.core.json_types import JsonObject
from bascule.sandbox.docker.labels import LANE, SERVER
from bascule.sandbox.spec.box import HOME, Box, MaskedPath, Mount

NO_NETWORK = "none"

TMP = "/tmp"  # noqa: S108 -- a path in the box, not one of ours

OPEN_FILES = 4096
"""Files that a process may have open. Servers have some dozens."""

FIRST_TO_GO = 500
"""Added to what the kernel thinks of a process when this machine runs out of memory: boxes go before us."""

PER_FILE = 4096
"""Bytes of its disk for which a box may make one file. Empty ones take memory too."""

FEWEST = 1024
"""Files that it may make at least."""

MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/locks", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats"),
    *("/sys/devices/virtual/powercap", "/sys/firmware"),
)
"""Files of the kernel that a sandbox does not see. All but one are those of Docker itself: /proc/locks lists locks of
other sandboxes, with two numbers that the other sandbox chooses."""

_NO_LABELS = dict[str, str]


@dataclass(frozen=True, slots=True)
class Making:
    """What a container is made with beside the box: of the engine, the machine and the runtime."""

    image: str
    first: tuple[str, ...]
    """The container's own process: it proves the box tight and stays."""
    user: str
    """Who everything is inside, as numbers: `uid:gid`."""
    seccomp: str
    """Which system calls are let through, as Docker takes it: JSON."""
    network: str = NO_NETWORK
    labels: Mapping[str, str] = field(default_factory=_NO_LABELS)
    volumes: tuple[str, ...] = ()
    """Folders for which the image wants storage of its own. They get a part of the box's."""
    empty: str = ""
    """An empty file of the host, for masks."""
    overlays: Mapping[str, str] = field(default_factory=_NO_LABELS)
    """Paths in the sandbox at which an overlay is mounted, with its options, in place of the folder itself."""
    userns: str = ""
    """Whose numbers the users inside are. Empty: as the engine has it for all."""


def body(box: Box, making: Making) -> JsonObject:
    """The body of `POST /containers/create`."""
    return {
        "Image": making.image,
        "Entrypoint": list(making.first),
        "Cmd": [],
        "User": making.user,
        "WorkingDir": "/",
        "Hostname": "box",
        "Labels": {**box.labels, SERVER: box.server, LANE: box.lane.value, **making.labels},
        # What an image brings to look after itself would run beside the server, and be nobody's.
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGKILL",
        "HostConfig": _host_config(box, making),
    }


def _host_config(box: Box, making: Making) -> JsonObject:
    bounds = box.bounds
    # Never more in all than the box may write, however it is spread.
    share = bounds.disk // (2 + len(making.volumes))
    uid, _, gid = making.user.partition(":")
    own = f"rw,nosuid,nodev,size={share},nr_inodes={max(FEWEST, share // PER_FILE)},uid={uid},gid={gid or uid}"
    return {
        "NetworkMode": making.network,
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={making.seccomp}"],
        "IpcMode": "none",
        "PidsLimit": bounds.pids,
        "Memory": bounds.memory,
        # With the same bound for both there is no swap: what is in the box is never written to this machine's disk.
        "MemorySwap": bounds.memory,
        "NanoCpus": round(bounds.cpus * 1e9),
        "OomScoreAdj": FIRST_TO_GO,
        "Ulimits": [_ulimit("core", 0), _ulimit("nofile", OPEN_FILES)],
        "Tmpfs": {TMP: f"{own},mode=1777,noexec", HOME: f"{own},mode=0700,exec"},
        "Mounts": [
            *(_mounted(mount, making) for mount in _last_of_each(box.mounts)),
            *(_tmpfs(path, share) for path in making.volumes),
            *(_nothing(mask, making.empty) for mask in box.masks),
        ],
        "MaskedPaths": list(MASKED),
        "LogConfig": {"Type": "none"},
        "RestartPolicy": {"Name": "no"},
        **({"UsernsMode": making.userns} if making.userns else {}),
    }


def _last_of_each(mounts: tuple[Mount, ...]) -> list[Mount]:
    """One mount at each place: an engine refuses two, and the later one hides the earlier."""
    return list({mount.target: mount for mount in mounts}.values())


def _mounted(mount: Mount, making: Making) -> JsonObject:
    options = making.overlays.get(mount.target)
    return bind(mount) if options is None else _overlay(mount, options)


def _overlay(mount: Mount, options: str) -> JsonObject:
    """An anonymous volume that is an overlay. It goes with its container. Engines refuse `ReadOnly` for one; an overlay
    without an upper layer is read-only by itself."""
    driver = {"Name": "local", "Options": {"type": "overlay", "device": "overlay", "o": options}}
    volume = {"NoCopy": True, "DriverConfig": driver}
    return {"Type": "volume", "Target": mount.target, "VolumeOptions": volume}


def bind(mount: Mount) -> JsonObject:
    """One mount, as an engine is told it."""
    # An engine makes the mount itself read-only, and not always what is mounted below it on this machine. So nothing
    # that is mounted below it comes along, and what is wanted of that stands in the list by itself.
    alone = {"NonRecursive": True} if not mount.writable else {}
    return {
        "Type": "bind",
        "Source": mount.source,
        "Target": mount.target,
        "ReadOnly": not mount.writable,
        "BindOptions": {"Propagation": "rprivate", **alone},
    }


def _tmpfs(path: str, size: int) -> JsonObject:
    return {"Type": "tmpfs", "Target": path, "TmpfsOptions": {"SizeBytes": size, "Mode": 0o1777}}


def _nothing(mask: MaskedPath, empty: str) -> JsonObject:
    """An empty folder or file over a masked one."""
    if not mask.folder:
        return bind(Mount(empty, mask.path))
    least = {"SizeBytes": 4096, "Mode": 0o555}
    return {"Type": "tmpfs", "Target": mask.path, "ReadOnly": True, "TmpfsOptions": least}


def _ulimit(name: str, most: int) -> JsonObject:
    return {"Name": name, "Soft": most, "Hard": most}
