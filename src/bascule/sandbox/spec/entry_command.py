"""Command line of the entry program in a sandbox, the same for every engine."""

import json
import platform
from collections.abc import Mapping
from typing import Literal

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.box import (
    DECOYS,
    INSIDE,
    LIVENESS_PIPE,
    PROXY_PORT,
    PROXY_SOCKET,
    RAISE_DESCRIPTOR,
    RAISE_SOCKET,
    Box,
)
from bascule.sandbox.spec.seccomp import lane_filter

Mode = Literal["become", "stay", "prove"]
"""What it does when it has found the box tight: become the server, stay for as long as the box is there, or end."""

Forwarding = Literal["start", "wait", "none"]

ENTRY = f"{INSIDE}/entry.py"


def entry_argv(
    box: Box,
    mode: Mode,
    *,
    forwarding: Forwarding = "start",
    limits: Mapping[str, int] | None = None,
    init: bool = False,
) -> tuple[str, ...]:
    """The command that proves the box from inside and then does as `mode` says.

    `forwarding` is for a sandbox with a proxy: start the forwarder, or only wait for one that another entry program has
    started. `limits` are names of the system's limits, such as RLIMIT_NPROC. With `init` it is the first process of the
    sandbox, and the server its child.
    """
    told = {
        "box": box.name,  # by which the process around it is known
        "mode": mode,
        "init": init,
        "isolated": box.lane is not Lane.OPEN,
        "forwarding": forwarding if box.proxied else "none",
        "port": PROXY_PORT,
        "socket": PROXY_SOCKET,
        "raising": RAISE_SOCKET if any(mount.target == RAISE_SOCKET for mount in box.mounts) else "",
        "descriptor": RAISE_DESCRIPTOR,
        "lane": box.lane.value,
        "filter": lane_filter(platform.machine(), box.lane).hex(),
        "liveness": LIVENESS_PIPE,
        "decoys": DECOYS if any(mount.target == DECOYS for mount in box.mounts) else "",
        "cwd": box.cwd,
        "limits": dict(limits or {}),
    }
    argv = box.argv if mode == "become" else ()
    return (box.python, "-I", "-S", ENTRY, json.dumps(told), *argv)
