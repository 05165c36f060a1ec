"""Rate limiter of one principal at one server: calls and bytes per minute, and concurrent calls."""

from collections.abc import Callable

from bascule.config.model.link_settings import Limits
from bascule.core.counters import Tally, Window
from bascule.core.errors import LimitReached
from bascule.policy.limits import Load, within_limits


class Meter:
    """Counts the calls of one principal at one server. Who has entered must leave, however the call ended."""

    __slots__ = ("_begun", "_clock", "_server", "tally", "under_way")

    def __init__(self, server: str, clock: Callable[[], float]) -> None:
        self._server = server
        self._clock = clock
        self._begun = Window()
        self.tally = Tally(clock)
        self.under_way = 0

    def enter(self, limits: Limits) -> None:
        """Count a call as begun. Raises `LimitReached`, and has counted nothing then."""
        most = limits.concurrent
        if limits.per_minute is None and limits.bytes_per_minute is None and (most is None or self.under_way < most):
            # What most calls need: no clock is asked, and nothing is made.
            self.under_way += 1
            return
        now = self._clock()
        refusal = within_limits(limits, self._load(limits, now), self._server)
        if refusal is not None:
            raise LimitReached(
                refusal.message, rule=refusal.rule, retry_after=refusal.retry_after or 0, fix=refusal.fix
            )
        if limits.per_minute is not None:
            self._begun.add(1, now)
        self.under_way += 1

    def leave(self) -> None:
        self.under_way -= 1

    def _load(self, limits: Limits, now: float) -> Load:
        begun, moved = self._begun, self.tally.window
        return Load(
            self.under_way,
            begun.within(now),
            begun.eases(limits.per_minute, now) if limits.per_minute is not None else 0.0,
            moved.within(now),
            moved.eases(limits.bytes_per_minute, now) if limits.bytes_per_minute is not None else 0.0,
        )
