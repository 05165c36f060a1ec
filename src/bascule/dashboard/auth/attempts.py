"""Rate limit on failed logins to the dashboard, per client address."""

from collections.abc import Callable

import msgspec

FREE = 10
"""Tokens that may be wrong at once. Nobody mistypes more often; who guesses does."""

EVERY = 6.0
"""Seconds after which one more is forgiven."""

MOST_ADDRESSES = 1000
"""Addresses that are remembered. The one that was wrong longest ago is forgotten first."""


class Record(msgspec.Struct):
    """What one address has left, as of some moment."""

    left: float
    at: float


class Tries:
    """All addresses from which a wrong token came."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, Record] = {}

    def wait(self, address: str) -> int:
        """Seconds until another token is looked at. 0: at once."""
        left = self._left(address)
        return 0 if left >= 1 else 1 + int((1 - left) * EVERY)

    def wrong(self, address: str) -> None:
        left = self._left(address)
        self._known.pop(address, None)
        self._known[address] = Record(max(left - 1, 0.0), self._clock())
        if len(self._known) > MOST_ADDRESSES:
            del self._known[next(iter(self._known))]

    def _left(self, address: str) -> float:
        record = self._known.get(address)
        return FREE if record is None else min(FREE, record.left + (self._clock() - record.at) / EVERY)
