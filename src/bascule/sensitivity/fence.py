"""Fence after a raise of the sensitivity level: it ends when every runtime has acknowledged the raise, or can no longer
write.

A runtime writes to a lane with a way out only under a lease, which proves that its last look into the store is recent.
The runtime that raised a level waits until every other one has acknowledged the change, or until the last look of a
silent one is too old for a valid lease."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from time import time

from bascule.core.errors import ConnectionLost, StoreError
from bascule.sensitivity.lease import Lease, since_boot
from bascule.store.deadline import StoreWait
from bascule.store.levels.interface import LevelStore, SessionRecord

PATIENCE = 1.75
"""Seconds after which a runtime that has not answered can no longer write."""

HOLDS = 1.4
"""Seconds for which a look into the store is good. Shorter than the patience of whoever waits for it to run out: their
clock may run faster than ours."""

INTERVAL = 0.5
"""Seconds between two looks. Several can fail before a lease runs out."""

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05
"""Seconds between two looks at who has not answered yet. Doubled each time."""

_log = logging.getLogger("bascule.compliance")

Follow = Callable[[Iterable[SessionRecord]], Awaitable[bool]]
"""Closes what is too wide for agent sessions that have changed, before it first waits. Returns once nothing runs in
what was closed; False if something may."""


class Fence:
    """One runtime's part in the fence. `lease` is its leave to write."""

    def __init__(self, store: LevelStore, follow: Follow, clock: Callable[[], float] = since_boot) -> None:
        self._store = store
        self._follow = follow
        self._clock = clock
        self._id = secrets.token_hex(8)
        self._seen = 0
        self._looking: asyncio.Task[None] | None = None
        self._tending: asyncio.Task[None] | None = None
        self._closed = False
        self.lease = Lease(self.renew, clock)

    async def open(self) -> None:
        """Be waited for by whoever raises a level, and keep the lease fresh."""
        asked = self._clock()
        self._seen = await self._store.register(self._id, time())
        self.lease.until = asked + HOLDS
        self._tending = asyncio.create_task(self._tend(), name="fence")

    async def close(self) -> None:
        """Write nothing any more, and say so."""
        self._closed = True
        self.lease.until = 0.0
        tasks = [task for task in (self._tending, self._looking) if task is not None]
        self._tending = self._looking = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.lease.until = 0.0
        try:
            await self._store.strike((self._id,))
        except StoreError as error:
            # Whoever raises next waits for us in vain, and strikes us off itself.
            _log.warning("the store could not be told that this runtime ends: %s", error.message)

    async def renew(self) -> None:
        """Look now, once for all who ask. Raises `StoreError` where nothing can be seen, and `ConnectionLost` after the
        end."""
        if self._closed:
            raise ConnectionLost("the runtime is closed", sent=False)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._looked)
        await asyncio.shield(self._looking)

    async def look_again(self) -> None:
        """Wait for a poll that starts after this call: one that is under way may be too old for a valid lease. Raises
        the errors of `renew`."""
        if self._looking is not None:
            await asyncio.wait((self._looking,))
        await self.renew()

    async def settle(self, number: int | None = None) -> str:
        """Wait until no runtime can write by what was true before this change, or before any that is made by now. In
        words, who has answered and who was waited for in vain. A change must be durable before this is asked."""
        deadline = self._clock() + PATIENCE
        try:
            return await self._wait_for_others(number, deadline)
        except StoreError as error:
            # Nobody can say that it has heard. But time alone is enough.
            await asyncio.sleep(max(deadline - self._clock(), 0))
            return f"all leases have run out; the store could not be asked: {error.message}"

    async def _wait_for_others(self, number: int | None, deadline: float) -> str:
        if number is None:
            number = (await self._store.poll(self._id, self._seen)).number
        pause, silent = FIRST_PAUSE, (await self._store.laggards(number)) - {self._id}
        waited_for = len(silent)
        if silent:
            self._store.ring()
        while silent and self._clock() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            silent = (await self._store.laggards(number)) - {self._id}
        if silent:
            await self._store.strike(silent, number)
        words = [f"{waited_for - len(silent)} other runtimes acknowledged"] if waited_for > len(silent) else []
        words += [f"the leases of {len(silent)} have run out"] if silent else []
        return ", ".join(words) or "no other runtime had to be waited for"

    async def _tend(self) -> None:
        while True:
            rung = asyncio.ensure_future(self._store.rung())
            try:
                await asyncio.wait((rung,), timeout=INTERVAL)
                if rung.done() and rung.exception() is not None:
                    _log.warning("nobody can wake this runtime up: %s", rung.exception())
                    await asyncio.sleep(INTERVAL)
                await self.renew()
            except StoreError as error:
                _log.warning("the store could not be asked for raised levels: %s", error.message)
            finally:
                rung.cancel()

    def _looked(self, task: "asyncio.Task[None]") -> None:
        if self._looking is task:
            self._looking = None
        if not task.cancelled():
            task.exception()  # told to whoever asked

    async def _look(self) -> None:
        """Look once, and once more where we were given up since the last time, with one deadline for both."""
        wait = StoreWait()
        if not await self._look_once(wait):
            await self._look_once(wait)

    async def _look_once(self, wait: StoreWait) -> bool:
        asked = self._clock()
        with wait.shared():
            poll = await self._store.poll(self._id, self._seen)
        if poll.changed and not await self._follow(poll.changed):
            # Not acknowledged: the runtime that raised the level waits until this one has closed everything.
            return poll.registered
        registered = poll.registered
        if registered and poll.number > self._seen:
            # Before the lease is good again: whoever gave us up meanwhile may have raised another level since.
            with wait.shared():
                registered = await self._store.acknowledge(self._id, poll.number)
        self._seen = poll.number
        if registered:
            self.lease.until = asked + HOLDS
        else:
            # The next look is the first that counts again: only from here on are we waited for.
            with wait.shared():
                await self._store.register(self._id, time())
        return registered
