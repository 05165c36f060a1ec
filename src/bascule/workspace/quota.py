"""Quota for the files of one agent session, counted by all that lies in its workspace, whichever program put it
there."""

import os
import stat
from collections.abc import Callable, Iterable

from bascule.core.errors import NoRoom
from bascule.workspace.virtual_paths import shown

BLOCK = 4096
"""What the smallest thing counts for. If it counted for nothing, a million empty files would fit under any quota."""


class Quota:
    """What is used, kept by what changes, and counted anew when that would be too much. Not locked by itself."""

    __slots__ = ("_count", "_limit", "_used")

    def __init__(self, limit: int, count: Callable[[], int]) -> None:
        """`count` looks at everything there is. It is asked before the first change, not at the beginning."""
        self._limit = limit
        self._count = count
        self._used: int | None = None

    def take(self, more: int, key: str) -> None:
        """So many bytes are about to be added. Raises NoRoom, and then nothing is counted."""
        used = self._count() if self._used is None else self._used
        if more > 0 and used + more > self._limit:
            # A server may have deleted something since.
            used = self._count()
            if used + more > self._limit:
                self._used = used
                raise self._full(used, more, key)
        self._used = max(used + more, 0)

    def adjust(self, more: int) -> None:
        """So many bytes are there now, or fewer: what was put back, or taken away, is not asked about."""
        if self._used is not None:
            self._used = max(self._used + more, 0)

    def _full(self, used: int, more: int, key: str) -> NoRoom:
        return NoRoom(
            f"no room for {shown(key)}: the quota of this workspace is used up",
            where=shown(key),
            evidence=f"{used} of {self._limit} bytes are used, {more} more are needed",
            cause="files count as whole blocks of 4 KiB",
            fix="delete what is not needed, or raise `workspace.quota`",
        )


def cost(size: int) -> int:
    """Of a file of that many bytes."""
    return max(-(-size // BLOCK), 1) * BLOCK


def cost_of(status: os.stat_result | None) -> int:
    """Of what is there. By length, not by what it takes on the disk, so that a hole cannot be filled past the quota."""
    if status is None:
        return 0
    return cost(status.st_size) if stat.S_ISREG(status.st_mode) else BLOCK


def total(entries: Iterable[tuple[str, os.stat_result]]) -> int:
    return sum(cost_of(status) for _, status in entries)
