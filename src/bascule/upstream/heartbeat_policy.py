"""Heartbeat policy: the time of the next request to a silent server, and the silence that means a dead link. Pure: the
time is an argument."""

from enum import Enum
from math import inf
from typing import Protocol

import msgspec

INSTANT = 0.001
"""Seconds that are no time at all. Waiting for less could end before the clock has moved."""


class Signs(Protocol):
    """What a transport knows of its server's life. Times are those of one clock."""

    @property
    def heard(self) -> float: ...
    @property
    def doubted(self) -> bool: ...
    @property
    def excused(self) -> bool: ...


class Finding(Enum):
    """What a look at a link shows."""

    ALIVE = "alive"
    """Nothing is to be done: it spoke a moment ago, or it is busy."""
    SILENT = "silent"
    """It has to be asked."""
    STALE = "stale"
    """It was asked, and has been silent for too long."""


class Look(msgspec.Struct, frozen=True):
    """A finding, and in how many seconds to look again."""

    finding: Finding
    again: float = 0.0


class Pulse:
    """Watches one link. A link that spoke within `interval` seconds is left alone, and one that works on a call may be
    silent as long as it likes. Any other is asked; if it stays silent for `stale_after` seconds, and for one interval
    after it was asked, it is dead."""

    def __init__(self, interval: float, stale_after: float) -> None:
        self._interval = interval
        self._stale_after = stale_after
        self._excused_at = -inf
        self._asked_at = -inf

    def skip(self, now: float) -> None:
        """It could not be asked: the next look begins anew."""
        self._excused_at, self._asked_at = now, -inf

    def look(self, now: float, signs: Signs) -> Look:
        if signs.excused:
            self._excused_at = now
            return Look(Finding.ALIVE, self._interval)
        # One that let somebody wait in vain has been silent since it was last heard, however busy it seemed.
        quiet_since = signs.heard if signs.doubted else max(signs.heard, self._excused_at)
        quiet = now - quiet_since
        if quiet < self._interval - INSTANT and not signs.doubted:
            return Look(Finding.ALIVE, self._interval - quiet)
        if self._asked_at <= quiet_since:
            self._asked_at = now
            return Look(Finding.SILENT, self._interval)
        left = max(self._stale_after - quiet, self._interval - (now - self._asked_at))
        if left <= INSTANT:
            return Look(Finding.STALE)
        return Look(Finding.SILENT, min(left, self._interval))
