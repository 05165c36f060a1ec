"""Connection limit of a web server, and the limit on unread response bytes: selects the connection to close when a
limit is reached."""

import resource
from collections import Counter
from typing import Any, Protocol

MOST_CONNECTIONS = 4096
"""Connections that may be open at once. Each takes some 15 KiB before it has asked for anything."""

MOST_UNREAD = 64 * 1024 * 1024
"""Bytes of answers that may wait for clients to read them. Beyond it, who has most waiting is hung up on."""


class Guest(Protocol):
    """A connection, as far as the hall cares."""

    @property
    def holder(self) -> Any:
        """Whose it is, as far as that is known."""
        ...

    def hang_up(self) -> None: ...


class Hall:
    """Who is here. A connection is new, idle between two requests, or has a request under way, and only who has one
    under way cannot be asked to leave."""

    def __init__(self, most: int | None = None, most_unread: int = MOST_UNREAD) -> None:
        self._most = room_for_connections() if most is None else most
        self._most_unread = most_unread
        self._new: dict[Guest, None] = {}
        self._idle: dict[Guest, None] = {}
        self._busy: set[Guest] = set()
        self._unread: dict[Guest, int] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._idle) + len(self._busy)

    def enter(self, guest: Guest) -> bool:
        """Whether there is room for one more. For it, who has been silent longest leaves: those first who have never
        asked for anything."""
        if len(self) >= self._most:
            waiting = self._new or self._idle
            if not waiting:
                return False
            silent = next(iter(waiting))
            self.leave(silent)
            silent.hang_up()
        self._new[guest] = None
        return True

    def asks(self, guest: Guest) -> None:
        """It has a request under way."""
        self._new.pop(guest, None)
        self._idle.pop(guest, None)
        self._busy.add(guest)

    def rests(self, guest: Guest) -> None:
        if guest in self._busy:
            self._busy.remove(guest)
            self._idle[guest] = None

    def leave(self, guest: Guest) -> None:
        self._new.pop(guest, None)
        self._idle.pop(guest, None)
        self._busy.discard(guest)
        self._unread.pop(guest, None)

    def falls_behind(self, guest: Guest, size: int) -> None:
        """It has not read this much of its answer."""
        self._unread[guest] = size
        while sum(self._unread.values()) > self._most_unread:
            slowest = self._slowest()
            self.leave(slowest)
            slowest.hang_up()

    def catches_up(self, guest: Guest) -> None:
        self._unread.pop(guest, None)

    def _slowest(self) -> Guest:
        """Of the one who has most waiting, over all its connections, the connection that has waited longest."""
        waiting = Counter[Any]()
        for guest, size in self._unread.items():
            waiting[guest.holder] += size
        worst = waiting.most_common(1)[0][0]
        return next(guest for guest in self._unread if guest.holder == worst)


def room_for_connections() -> int:
    """Half of the descriptors that this process may have, since servers need the rest."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if allowed < 0 else max(16, min(MOST_CONNECTIONS, allowed // 2))
