"""Lease to write on lanes with a way out: valid only while no raise of a sensitivity level can have gone unnoticed."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from bascule.core.errors import StoreError
from bascule.store.deadline import current_wait

since_boot = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
"""Seconds, also those that a machine has slept: a lease must not outlive a raise because nobody was awake."""


class Lease:
    """Valid until it runs out. Asked in the step in which bytes are handed over, for every lane that has a way out."""

    __slots__ = ("_clock", "_renew", "until")

    def __init__(self, renew: Callable[[], Awaitable[None]], clock: Callable[[], float] = since_boot) -> None:
        self._renew = renew
        self._clock = clock
        self.until = 0.0

    def valid(self) -> bool:
        return self._clock() < self.until

    async def regain(self) -> None:
        """Have it renewed if it has run out. Without the store it stays as it is."""
        if not self.valid():
            with suppress(StoreError):
                async with current_wait().limited():
                    await self._renew()
