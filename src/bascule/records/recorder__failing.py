"""Servers to which the last link that ended, or was tried, failed."""

from bascule.core.events import LinkChanged

UP = frozenset({"ready", "degraded"})


class Failing:
    """Kept from the events of links, of whomever they are."""

    __slots__ = ("servers",)

    def __init__(self) -> None:
        self.servers: set[str] = set()

    def note(self, event: LinkChanged) -> None:
        if event.state == "failed":
            self.servers.add(event.server)
        elif event.state in UP:
            self.servers.discard(event.server)
