"""Registry of the ways out of a sandbox. Each way is one sender function with a receiver outside of the sandbox.

The modules of this folder run in sandboxes too, so they need the standard library alone."""

import ctypes
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

To = dict[str, Any]
"""Addresses of the receivers, by name."""

Sender = Callable[[To, str], Any]
"""Sends a token of eight hexadecimal digits. Raises an exception where that is refused."""

PRIVATE = ("proxied", "sealed")


@dataclass(frozen=True)
class Way:
    """One way out."""

    name: str
    family: str
    sentence: str
    send: Sender
    receiver: str = "outside"
    """`outside`: any process beside the sandbox. `client`: the MCP client. `operator`: receipts of the agent session.
    `allowed`: a host of `egress.allow`."""
    server: str = "auto"
    """`auto`: folders that are named in `args`. `mounts`: folders that are named in `sandbox.mounts`."""
    held: bool = False
    """The sender stays until the receivers have looked: the channel is a state that ends with its process."""
    needs: str = ""
    """A path without which the kernel does not have this feature."""
    exception: str = ""
    """The reason, with the rate, for which the way stays open in the lanes of `except_in`."""
    except_in: tuple[str, ...] = PRIVATE


WAYS: dict[str, Way] = {}


def add(name: str, family: str, sentence: str, send: Sender, **more: Any) -> None:
    assert name not in WAYS, f"there are two ways called {name}"
    WAYS[name] = Way(name, family, sentence, send, **more)


def way(family: str, sentence: str, **more: Any) -> Callable[[Sender], Sender]:
    """Registers a function under its own name."""

    def register(send: Sender) -> Sender:
        add(getattr(send, "__name__"), family, sentence, send, **more)  # noqa: B009 -- not every callable has one
        return send

    return register


# The kernel

libc = ctypes.CDLL(None, use_errno=True)

_NUMBERS = {
    "x86_64": {
        "add_key": 248,
        "bpf": 321,
        "io_uring_enter": 426,
        "io_uring_setup": 425,
        "keyctl": 250,
        "pidfd_getfd": 438,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297,
    },
    "aarch64": {
        "add_key": 217,
        "bpf": 280,
        "io_uring_enter": 426,
        "io_uring_setup": 425,
        "keyctl": 219,
        "pidfd_getfd": 438,
        "pidfd_open": 434,
        "pidfd_send_signal": 424,
        "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240,
    },
}


def checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(name: str, *arguments: Any) -> int:
    """A system call for which Python and libc have no function."""
    plain = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return checked(libc.syscall(ctypes.c_long(_NUMBERS[platform.machine()][name]), *plain))


def bits(token: str) -> list[int]:
    """Positions of the bits that are set in a token."""
    number = int(token, 16)
    return [position for position in range(32) if number >> position & 1]


def nibbles(token: str) -> list[int]:
    return [int(digit, 16) for digit in token]
