"""Link history of each server: restarts, and the last failure."""

from collections.abc import Iterable

import msgspec

from bascule.core.events import LinkChanged
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane

FAILED = frozenset({"failed", "needs-auth"})

MOST_LOST = 10_000
"""Links that are remembered as lost until they are opened again."""


class ServerNote(msgspec.Struct):
    """Of one server, whoever its links are for."""

    restarts: int = 0
    changed: float | None = None
    """When one of its links last came into another state."""
    code: str = ""
    """Of the last failure."""
    reason: str = ""
    failed: float | None = None
    """When that was."""


class ServerNotes:
    """Of all servers of a runtime: as many as the config names."""

    def __init__(self) -> None:
        self._notes: dict[str, ServerNote] = {}
        self._lost: set[tuple[str, Lane, Principal]] = set()

    def of(self, server: str) -> ServerNote:
        return self._notes.get(server) or ServerNote()

    def note(self, event: LinkChanged) -> None:
        note = self._notes.setdefault(event.server, ServerNote())
        note.changed = event.at
        key = (event.server, event.lane, event.principal)
        if event.state in FAILED:
            note.code, note.reason, note.failed = event.code, event.reason, event.at
            if len(self._lost) < MOST_LOST:
                self._lost.add(key)
        elif event.state == "connecting" and key in self._lost:
            self._lost.discard(key)
            note.restarts += 1

    def forget(self, servers: Iterable[str]) -> None:
        """These are others by the same name, or are there no more."""
        gone = frozenset(servers)
        for name in gone:
            self._notes.pop(name, None)
        self._lost = {key for key in self._lost if key[0] not in gone}
