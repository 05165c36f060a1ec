"""Registry of keep-alive connections that several links share, if their servers differ only in the path. Imports
nothing that a runtime without remote servers does not need."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bascule.transports.http.connections import Host


class Hosts:
    """Those that at least one link speaks to."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Host, int]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def join(self, key: Hashable, make: "Callable[[], Host]") -> "Host":
        """What is known by this key, which is made for the first that asks. Who has joined must leave."""
        host, links = self._known.get(key) or (make(), 0)
        self._known[key] = host, links + 1
        return host

    def leave(self, key: Hashable) -> "Host | None":
        """Given back to the last one that leaves, to be closed."""
        host, links = self._known.pop(key)
        if links == 1:
            return host
        self._known[key] = host, links - 1
        return None


class Kin(NamedTuple):
    """Links that may have connections in common, as far as what they are for tells: those of one runtime, one lane and
    one principal."""

    hosts: Hosts
    of: Hashable
