"""What a process has from whoever starts it. Servers are started by keepers, and shall have it from us."""

import os
import resource
from typing import Any, NamedTuple

LASTING = ("Uid:", "Gid:", "Groups:", "Cap", "NoNewPrivs:", "Seccomp")
"""Lines of a process's status that say what it may do."""

NAMESPACES = ("mnt", "net", "pid_for_children", "user")

_PROC = "/proc/self"
_LIMITS = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))


class Inheritance(NamedTuple):
    """What we are at one moment."""

    standing: tuple[Any, ...]
    """Who we are, what we may do, and in which part of the system we live. A nursery has this from the moment in which
    it was started; once we have given up a right, or moved, servers must not come from there any more."""
    passing: dict[str, Any]
    """What may change at any time without much ado, and so goes along with every start."""


def inheritance() -> Inheritance:
    status = _read("status").splitlines()
    root = os.stat("/")  # noqa: PTH116 -- this is done for every server, and pathlib would take most of the time
    standing = (
        os.getpid(),
        (os.getuid(), os.geteuid(), os.getgid(), os.getegid()),
        (root.st_dev, root.st_ino),
        tuple(line for line in status if line.startswith(LASTING)),
        tuple(map(_namespace, NAMESPACES)),
        _read("cgroup"),
    )
    passing = {
        "umask": next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "limits": [(number, *resource.getrlimit(number)) for number in _LIMITS],
    }
    return Inheritance(standing, passing)


def _read(name: str) -> str:
    try:
        with open(f"{_PROC}/{name}") as file:  # noqa: PTH123
            return file.read()
    except (FileNotFoundError, PermissionError):  # not Linux; what is only not to be had just now is no answer
        return ""


def _namespace(name: str) -> str:
    try:
        return os.readlink(f"{_PROC}/ns/{name}")  # noqa: PTH115
    except (FileNotFoundError, PermissionError):
        return ""
