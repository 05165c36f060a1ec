"""Seccomp filters of a sandbox: the refused system calls, as BPF programs for the kernel and as a Docker profile. All
other calls stay open: a server in Python or Node must not notice.

The engine installs the first filter, the same in every lane. In private lanes the entry program installs a second one
just before it becomes the server (`lane_filter`)."""

import errno
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bascule.core.sensitivity import Lane

Test = Literal["is", "is not", "at least", "has bit"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What an argument must be like for a call to be refused. The lower half of it counts: the kernel reads no more
    of a number, a family or a set of flags."""

    argument: int
    test: Test
    value: int


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that is answered with an error, if all conditions hold."""

    name: str
    error: int = errno.EPERM
    """0 returns success without any effect: for advice, which a kernel may ignore."""
    conditions: tuple[Condition, ...] = ()


MOUNTING = (
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr"),
)
SEEING_OTHERS = ("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp")
KERNEL_S_OWN = (
    *(
        "bpf",
        "perf_event_open",
        "userfaultfd",
        "fanotify_init",
        "open_by_handle_at",
        "add_key",
        "request_key",
        "keyctl",
    ),
    *("kexec_load", "kexec_file_load", "create_module", "init_module", "finit_module", "delete_module", "query_module"),
    *("get_kernel_syms", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "nfsservctl", "syslog"),
    *("lookup_dcookie", "vhangup", "uselib", "sysfs", "ustat", "_sysctl", "settimeofday", "clock_settime", "adjtimex"),
    *("clock_adjtime", "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "migrate_pages", "move_pages"),
)
NEWCOMERS = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Answered as by a kernel that does not know them, which programs are prepared for. What clone3 is asked for lies in
memory, where no filter can look: programs go back to clone, whose flags can be seen."""

NEW_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""Flags of clone: mounts, cgroups, names, messages, users, processes, networks."""

FAMILIES = frozenset({socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK})
"""Kinds of sockets that servers use. The last is how programs ask which addresses they have."""

LAST_FAMILY = 46
"""Whatever is numbered higher is refused as a whole."""

NETLINK_ROUTE = 0

ODD_PERSONALITIES = (0x0040000, 0x0100000, 0x0200000, 0x0400000)
"""Memory where it is always found, memory at address nought, and memory that is run because it can be read."""

TERMINAL_TRICKS = (0x5412, 0x541C)
"""To type on somebody else's terminal, and to paste there."""

READ_EVENTS = (0x00000001, 0x00000010, 0x00000020)
"""Inotify events for a read: IN_ACCESS, IN_CLOSE_NOWRITE, IN_OPEN. A sandbox that can only read a folder would signal
by them to every sandbox that shows the same folder; overlayfs passes them on. Changes can still be watched. ENOSYS
sends a program that polls where inotify is missing to polling."""

LEASE_COMMANDS = (1024, 1026, 1040)
"""F_SETLEASE, F_NOTIFY, F_SETDELEG: notification of another process that opens the file or reads the folder."""

RESIDENCY = ("mincore", "cachestat")
"""Calls that return which pages of a file are in the page cache. Sandboxes share it: it belongs to the disk's files."""

UNCACHED_READS = (0x00000008, 0x00000080)
"""RWF_NOWAIT fails if the page cache lacks the data, RWF_DONTCACHE reads and leaves the page cache as it was."""

FADV_DONTNEED = 4
EVICTING_ADVICE = (20, 21)
"""MADV_COLD and MADV_PAGEOUT, which evict pages of a file."""

SHARED_INODES: tuple[RefusedCall, ...] = (
    *(RefusedCall("inotify_add_watch", errno.ENOSYS, (Condition(2, "has bit", event),)) for event in READ_EVENTS),
    *(RefusedCall("fcntl", errno.EINVAL, (Condition(1, "is", command),)) for command in LEASE_COMMANDS),
)
"""Signals of the kernel about an inode that several sandboxes may have open."""

SHARED_PAGE_CACHE: tuple[RefusedCall, ...] = (
    *(RefusedCall(name, errno.ENOSYS) for name in RESIDENCY),
    *(
        RefusedCall(name, errno.EOPNOTSUPP, (Condition(5, "has bit", flag),))
        for name in ("preadv2", "pwritev2")
        for flag in UNCACHED_READS
    ),
    # The flags of a request to the kernel's own asynchronous I/O lie in memory, where no filter can look.
    RefusedCall("io_setup", errno.ENOSYS),
    RefusedCall("fadvise64", 0, (Condition(3, "is", FADV_DONTNEED),)),
    *(RefusedCall("madvise", 0, (Condition(2, "is", advice),)) for advice in EVICTING_ADVICE),
)
"""Calls that read or change which pages are cached. Without them only the time of a read is left."""


def _families() -> tuple[RefusedCall, ...]:
    others = [Condition(0, "is", family) for family in range(LAST_FAMILY) if family not in FAMILIES]
    others.append(Condition(0, "at least", LAST_FAMILY))
    single = tuple(
        RefusedCall(call, errno.EAFNOSUPPORT, (each,)) for call in ("socket", "socketpair") for each in others
    )
    other_netlink = (Condition(0, "is", socket.AF_NETLINK), Condition(2, "is not", NETLINK_ROUTE))
    return (*single, RefusedCall("socket", errno.EAFNOSUPPORT, other_netlink))


REFUSED: tuple[RefusedCall, ...] = (
    *(RefusedCall(name) for name in (*MOUNTING, "unshare", "setns", *SEEING_OTHERS, *KERNEL_S_OWN)),
    *(RefusedCall(name, errno.ENOSYS) for name in NEWCOMERS),
    *(RefusedCall("clone", errno.EPERM, (Condition(0, "has bit", flag),)) for flag in NEW_NAMESPACES),
    *_families(),
    *(RefusedCall("personality", errno.EPERM, (Condition(0, "has bit", bit),)) for bit in ODD_PERSONALITIES),
    *(RefusedCall("ioctl", errno.EPERM, (Condition(1, "is", trick),)) for trick in TERMINAL_TRICKS),
    *SHARED_INODES,
    *SHARED_PAGE_CACHE,
)

NO_UNIX_SOCKETS: tuple[RefusedCall, ...] = (
    RefusedCall("socket", errno.EAFNOSUPPORT, (Condition(0, "is", socket.AF_UNIX),)),
    # All types but SOCK_STREAM, which is 1: a datagram socket of a pair can still send to a path.
    RefusedCall("socketpair", errno.EAFNOSUPPORT, (Condition(0, "is", socket.AF_UNIX), Condition(1, "has bit", 0xE))),
)
"""Refused in private lanes: a Unix socket that lies in a mounted folder leads to a program of the host."""

NO_CONNECTIONS = (RefusedCall("connect", errno.ENETUNREACH),)
"""Refused in the sealed lane. The error is that of a host without a route."""

REFUSED_IN: dict[Lane, tuple[RefusedCall, ...]] = {
    Lane.OPEN: (),
    Lane.PROXIED: NO_UNIX_SOCKETS,  # programs connect to the proxy, over TCP on loopback
    Lane.SEALED: (*NO_UNIX_SOCKETS, *NO_CONNECTIONS),
}

_SAME = {
    "move_mount": 429, "open_tree": 428, "open_tree_attr": 467, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "process_madvise": 440, "pidfd_getfd": 438, "quotactl_fd": 443,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435,
    "cachestat": 451,
}  # fmt: skip
"""Those that were added late have one number everywhere."""

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        **_SAME,
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "bpf": 321, "perf_event_open": 298,
        "userfaultfd": 323, "fanotify_init": 300, "open_by_handle_at": 304, "add_key": 248, "request_key": 249,
        "keyctl": 250, "kexec_load": 246, "kexec_file_load": 320, "create_module": 174, "init_module": 175,
        "finit_module": 313, "delete_module": 176, "query_module": 178, "get_kernel_syms": 177, "reboot": 169,
        "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "nfsservctl": 180, "syslog": 103,
        "lookup_dcookie": 212, "vhangup": 153, "uselib": 134, "sysfs": 139, "ustat": 136, "_sysctl": 156,
        "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "sethostname": 170,
        "setdomainname": 171, "iopl": 172, "ioperm": 173, "modify_ldt": 154, "migrate_pages": 256,
        "move_pages": 279, "clone": 56, "socket": 41, "connect": 42, "socketpair": 53, "ioctl": 16, "personality": 135,
        "inotify_add_watch": 254, "fcntl": 72, "mincore": 27, "preadv2": 327, "pwritev2": 328, "io_setup": 206,
        "fadvise64": 221, "madvise": 28,
    },
    "aarch64": {
        **_SAME,
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "bpf": 280, "perf_event_open": 241,
        "userfaultfd": 282, "fanotify_init": 262, "open_by_handle_at": 265, "add_key": 217, "request_key": 218,
        "keyctl": 219, "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273,
        "delete_module": 106, "reboot": 142, "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60,
        "nfsservctl": 42, "syslog": 116, "lookup_dcookie": 18, "vhangup": 58, "settimeofday": 170,
        "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162,
        "migrate_pages": 238, "move_pages": 239, "clone": 220, "socket": 198, "socketpair": 199, "connect": 203,
        "ioctl": 29, "personality": 92,
        "inotify_add_watch": 27, "fcntl": 25, "mincore": 232, "preadv2": 286, "pwritev2": 287, "io_setup": 0,
        "fadvise64": 223, "madvise": 233,
    },
}  # fmt: skip
"""What a call is to the kernel. One that an architecture lacks is left out there."""

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""By the name of the machine, what the kernel calls it."""

DOCKER_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}

ALLOW = 0x7FFF0000
KILL = 0x80000000
ERROR = 0x00050000

X32 = 0x40000000
"""Calls of x86_64 numbered from here are a second set of nearly all of them, which no program uses."""

LOAD = 0x20
JUMP_IF_EQUAL = 0x15
JUMP_IF_AT_LEAST = 0x35
JUMP_IF_BITS = 0x45
RETURN = 0x06

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Where the number of a call, its architecture and its arguments lie in what the program is given."""

_JUMPS = {"is": JUMP_IF_EQUAL, "is not": JUMP_IF_EQUAL, "at least": JUMP_IF_AT_LEAST, "has bit": JUMP_IF_BITS}


def lane_filter(machine: str, lane: Lane) -> bytes:
    """The second filter, as a program for the kernel. Empty in the open lane."""
    return filter_program(machine, REFUSED_IN[lane]) if REFUSED_IN[lane] else b""


def filter_program(machine: str, refused: Sequence[RefusedCall] = REFUSED) -> bytes:
    """A filter, as a program for the kernel of this kind of machine."""
    program = [
        _instruction(LOAD, ARCHITECTURE),
        _instruction(JUMP_IF_EQUAL, ARCHITECTURES[machine], 1, 0),
        _instruction(RETURN, KILL),
        _instruction(LOAD, NUMBER),
    ]
    if machine == "x86_64":
        program += [_instruction(JUMP_IF_AT_LEAST, X32, 0, 1), _refusal(errno.EPERM)]
    for call in refused:
        if call.name in NUMBERS[machine]:
            program += _rule(call, NUMBERS[machine][call.name])
    return b"".join([*program, _instruction(RETURN, ALLOW)])


def _rule(call: RefusedCall, number: int) -> list[bytes]:
    """Refuse one call. The number is in the accumulator before and after."""
    if not call.conditions:
        return [_instruction(JUMP_IF_EQUAL, number, 0, 1), _refusal(call.error)]
    body: list[bytes] = []
    # Two instructions for a condition, and one for the refusal behind the last: whoever does not match jumps over it.
    for index, condition in enumerate(call.conditions):
        rest = 2 * (len(call.conditions) - index - 1) + 1
        body += _tested(condition, rest)
    body += [_refusal(call.error), _instruction(LOAD, NUMBER)]
    return [_instruction(JUMP_IF_EQUAL, number, 0, len(body)), *body]


def _tested(condition: Condition, skipped: int) -> list[bytes]:
    if_so, if_not = (skipped, 0) if condition.test == "is not" else (0, skipped)
    return [
        _instruction(LOAD, ARGUMENTS + 8 * condition.argument),
        _instruction(_JUMPS[condition.test], condition.value, if_so, if_not),
    ]


def _refusal(error: int) -> bytes:
    return _instruction(RETURN, ERROR | error)


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def docker_profile(machine: str) -> dict[str, Any]:
    """The same, as Docker takes it in `security-opt seccomp=`. A call in another architecture's manner ends who made
    it."""
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [DOCKER_ARCHITECTURES[machine]],
        "syscalls": [_docker_rule(call) for call in REFUSED if call.name in NUMBERS[machine]],
    }


def _docker_rule(call: RefusedCall) -> dict[str, Any]:
    return {
        "names": [call.name],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": call.error,
        "args": [_docker_condition(condition) for condition in call.conditions],
    }


def _docker_condition(condition: Condition) -> dict[str, Any]:
    """Arguments are compared as a whole there. A number with something in its upper half is none of those that are
    allowed, and is refused by `at least` or `is not`."""
    match condition.test:
        case "is":
            return _compared(condition.argument, "SCMP_CMP_MASKED_EQ", 0xFFFFFFFF, condition.value)
        case "has bit":
            return _compared(condition.argument, "SCMP_CMP_MASKED_EQ", condition.value, condition.value)
        case "is not":
            return _compared(condition.argument, "SCMP_CMP_NE", condition.value)
        case "at least":
            return _compared(condition.argument, "SCMP_CMP_GE", condition.value)


def _compared(index: int, how: str, value: int, second: int = 0) -> dict[str, Any]:
    return {"index": index, "op": how, "value": value, "valueTwo": second}
