"""Which tools of each server wait for approval, and who is told when that changes."""

from collections.abc import Callable

from bascule.catalog.server_listing import ServerListing
from bascule.core.events import ToolsQuarantined
from bascule.core.tool import ToolStatus


class Quarantine:
    """What was last told of each server's quarantined tools."""

    def __init__(self, tell: Callable[[ToolsQuarantined], None], clock: Callable[[], float]) -> None:
        self._tell = tell
        self._clock = clock
        self._known: dict[str, frozenset[str]] = {}

    def follow(self, listing: ServerListing) -> None:
        """Tell what is new about a listing that holds from now on."""
        entries = listing.entries.items()
        now = frozenset(tool for tool, entry in entries if entry.spec.status is ToolStatus.QUARANTINED)
        before = self._known.get(listing.server, frozenset())
        if now != before:
            self._known[listing.server] = now
            added, released = sorted(now - before), sorted(before - now)
            self._tell(ToolsQuarantined(listing.server, tuple(added), tuple(released), self._clock()))

    def forget(self, server: str) -> None:
        """What was known of a server says nothing any more."""
        self._known.pop(server, None)
