"""What can befall a connection, as data. Bytes are counted from the moment a fault is laid on a connection."""

from dataclasses import dataclass
from typing import Literal

Way = Literal["up", "down"]
"""Towards the server, or back from it."""


@dataclass(frozen=True)
class Latency:
    """Every piece comes later: by so many seconds, and up to `jitter` more."""

    seconds: float
    jitter: float = 0.0


@dataclass(frozen=True)
class Slices:
    """Every piece comes in slices of so many bytes, and others have a turn between two of them."""

    size: int = 1


@dataclass(frozen=True)
class Refuse:
    """A new connection is reset as soon as it is there."""


@dataclass(frozen=True)
class Stall:
    """After so many bytes nothing more passes this way, until the proxy is healed."""

    after: int = 0
    way: Way = "down"


@dataclass(frozen=True)
class Cut:
    """After so many bytes both sides see the end of the connection."""

    after: int = 0
    way: Way = "down"


@dataclass(frozen=True)
class Reset:
    """After so many bytes the connection is reset on both sides, and what is under way is lost."""

    after: int = 0
    way: Way = "down"


@dataclass(frozen=True)
class HalfClose:
    """After so many bytes this way ends, while the other stays open. What still comes this way is dropped."""

    after: int = 0
    way: Way = "down"


Lasting = Latency | Slices | Refuse
"""Holds from its first byte on."""

Sudden = Stall | Cut | Reset | HalfClose
"""Happens once, after so many bytes."""

Fault = Lasting | Sudden
