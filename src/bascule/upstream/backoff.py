"""Restart backoff of a link: exponential waits with jitter, up to a number of attempts. Pure: time and chance are
arguments."""

from collections.abc import Callable
from math import inf

JITTER = 0.25
"""How much shorter or longer a wait may be, as a part of it: what died together should not come back together."""


class Comeback:
    """The attempts for one key. Each wait is twice the one before; after the last attempt the key is left alone until
    someone asks. A link that lived as long as the longest wait has put all that behind it."""

    def __init__(self, attempts: int, backoff: float, chance: Callable[[], float]) -> None:
        self._attempts = attempts
        self._backoff = backoff
        self._chance = chance
        self._made = 0
        self._failed_at = -inf
        self.due = inf
        """When the next attempt is to be made."""

    @property
    def steady(self) -> float:
        """Seconds after which a link counts as well."""
        return self._backoff * 2 ** (self._attempts - 1)

    def died(self, now: float, lived: float) -> None:
        """A link that had been ready for `lived` seconds is dead."""
        if lived >= self.steady:
            self._made = 0
        self._failed_at = -inf
        self._schedule(now)

    def failed(self, now: float) -> None:
        """A link could not be opened."""
        self._failed_at = now
        self._schedule(now)

    def hold(self, now: float) -> float:
        """Seconds for which one who asks is told to wait: after a failure, until the next attempt, but never longer
        than the shortest wait. Those who ask should not make an attempt each, nor wait for one that is far off.
        Nobody waits after a death: the server could be opened before, and may be well again. Nor once nobody tries any
        more: then asking is what makes an attempt."""
        return max(0.0, min(self.due, self._failed_at + self._backoff) - now) if self.due < inf else 0.0

    def _schedule(self, now: float) -> None:
        if self._made >= self._attempts:
            self.due = inf
            return
        wait = self._backoff * 2**self._made
        self.due = now + wait * (1 + JITTER * (2 * self._chance() - 1))
        self._made += 1
