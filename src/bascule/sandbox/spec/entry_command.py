"""Command line of the entry program in a sandbox, the same for every engine."""

import json
from collections.abc import Mapping
from typing import Literal

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.box import INSIDE, LIVENESS_PIPE, PROXY_PORT, PROXY_SOCKET, Box

Mode = Literal["become", "stay", "prove"]
"""What it does when it has found the box tight: become the server, stay for as long as the box is there, or end."""

Forwarding = Literal["start", "wait", "none"]

ENTRY = f"{INSIDE}/entry.py"


def entry_argv(
    box: Box, mode: Mode, *, forwarding: Forwarding = "start", limits: Mapping[str, int] | None = None, python: str = ""
) -> tuple[str, ...]:
    """The command that proves the box from inside and then does as `mode` says.

    `forwarding` is for a box with a proxy: whether to start what leads there, or only wait for one that another entry
    has started. `limits` are names of the system's limits, such as RLIMIT_NPROC. `python` is for a box of an image of
    its own.
    """
    told = {
        "box": box.name,  # by which the process around it is known
        "mode": mode,
        "isolated": box.lane is not Lane.OPEN,
        "forwarding": forwarding if box.proxied else "none",
        "port": PROXY_PORT,
        "socket": PROXY_SOCKET,
        "liveness": LIVENESS_PIPE,
        "cwd": box.cwd,
        "limits": dict(limits or {}),
    }
    argv = box.argv if mode == "become" else ()
    return (python or box.python, "-I", "-S", ENTRY, json.dumps(told), *argv)
