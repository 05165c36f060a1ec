"""Fence after a raise of the sensitivity level: it ends when every runtime has acknowledged the raise, or can no longer
write.

A runtime writes to a lane with a way out only under a lease, which proves that its last look into the store is recent.
The runtime that raised a level waits until every other one has acknowledged the change, or until the last look of a
silent one is too old for a valid lease."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable
from math import inf
from time import time

from bascule.core.errors import ConnectionLost, StoreError
from bascule.core.receipt import Receipt
from bascule.sensitivity.lease import Lease, since_boot
from bascule.store.deadline import LONGEST, StoreWait
from bascule.store.levels.interface import Laggards, LevelStore, Poll, SessionRecord
from bascule.store.levels.position import Position, position_after

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


class Sightings:
    """Runtimes that the last polls found registered. A raise waits for them also if their rows are gone."""

    def __init__(self) -> None:
        self._gone: dict[str, float] = {}
        self._given_up: dict[str, float] = {}

    def add(self, runtimes: Collection[str], began: float, ended: float) -> None:
        """Add the result of a poll. A runtime may have polled until its row was gone, and so may have a lease until
        `PATIENCE` after the first poll without it."""
        known = {each for each in runtimes if began > self._given_up.get(each, -inf)}
        for runtime in self._gone.keys() - known:
            self._gone[runtime] = min(self._gone[runtime], ended)
        self._gone |= dict.fromkeys(known, inf)
        self._gone = {each: at for each, at in self._gone.items() if at + PATIENCE > ended}
        self._given_up = {each: at for each, at in self._given_up.items() if at + LONGEST > ended}

    def give_up(self, runtimes: Iterable[str], at: float) -> None:
        """Remove runtimes whose leases have run out. A poll that began before may still find their rows."""
        for runtime in runtimes:
            self._gone.pop(runtime, None)
            self._given_up[runtime] = at

    def missing(self, found: Laggards) -> frozenset[str]:
        """The runtimes that a change has to wait for: those that lag, and those without a row."""
        return found.lagging.union(self._gone) - found.settled


class Fence:
    """One runtime's part in the fence. `lease` is its permit to write. `unsettle` is called before the records of
    another database are applied: no earlier raise counts as fenced there."""

    def __init__(
        self,
        store: LevelStore,
        follow: Follow,
        clock: Callable[[], float] = since_boot,
        unsettle: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._follow = follow
        self._clock = clock
        self._unsettle = unsettle
        self._id = secrets.token_hex(8)
        self._position: Position | None = None
        self._sightings = Sightings()
        self._unsure = 0.0
        """Time until which runtimes may have a lease that this one has never seen."""
        self._looking: asyncio.Task[None] | None = None
        self._tending: asyncio.Task[None] | None = None
        self._closed = False
        self.lease = Lease(self.renew, clock)

    async def open(self) -> None:
        """Register this runtime and poll, so that each raise waits for it and its raises wait for the others; then keep
        the lease fresh."""
        self._position = await self._store.register(self._id, time())
        await self.renew()
        # A runtime that polls now remembers this one, and waits for it also if its row is deleted.
        self._store.ring()
        self._tending = asyncio.create_task(self._tend(), name="fence")

    async def close(self) -> None:
        """Write nothing any more, and mark this runtime as ended in the store."""
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
            await self._store.leave(self._id, time())
        except StoreError as error:
            # The next raise waits for this runtime until its lease has run out, and then deregisters it.
            _log.warning("this runtime ends, and could not be deregistered: %s", error.message)

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

    async def settle(self, receipt: Receipt | None = None) -> str:
        """Wait until no runtime can write by what was true before this change, or before any that is made by now.
        Returns in words which runtimes have acknowledged it and which leases have run out. The change must be durable
        before. Raises `StoreError` if the store has lost it by then."""
        deadline = self._clock() + PATIENCE
        try:
            words = await self._wait_for_others(receipt, deadline)
        except StoreError as error:
            # No runtime can acknowledge the change. But time alone is enough.
            await asyncio.sleep(max(deadline - self._clock(), 0))
            return f"all leases have run out; the store could not be asked: {error.message}"
        if words is None:
            raise _lost(receipt)
        return words

    async def _wait_for_others(self, receipt: Receipt | None, deadline: float) -> str | None:
        """Words for the receipt; None if the store does not hold the change."""
        position = await self._last_position() if receipt is None else position_after(receipt)
        found = await self._store.laggards(position)
        deregistered = self._was_deregistered(found)
        pause, silent = FIRST_PAUSE, self._silent(found)
        waited_for = set(silent)
        if silent or deregistered:
            self._store.ring()
        while found.found and (silent or deregistered) and self._clock() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            found = await self._store.laggards(position)
            silent = self._silent(found)
            waited_for |= silent
        if not found.found:
            return None
        if silent:
            await self._store.strike(silent, position)
            self._sightings.give_up(silent, self._clock())
        return _in_words(len(waited_for - silent), len(silent), deregistered=deregistered)

    async def _last_position(self) -> Position:
        if self._position is None:
            return await self._store.position()
        return (await self._poll(self._position)).position

    def _silent(self, found: Laggards) -> frozenset[str]:
        return self._sightings.missing(found) - {self._id}

    def _was_deregistered(self, found: Laggards) -> bool:
        """Whether the row of this runtime is gone, or was. Rows of others may be gone with it, also of runtimes that
        were never seen here: their leases have run out only after `PATIENCE`."""
        gone = self._position is not None and self._id not in found.lagging | found.settled
        return gone or self._clock() < self._unsure

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
        """Poll, and once more where this runtime is no longer registered, with one deadline for both."""
        wait = StoreWait()
        if not await self._look_once(wait):
            await self._look_once(wait)

    async def _look_once(self, wait: StoreWait) -> bool:
        """Poll and apply what has changed. False if the lease has to wait for another poll: this runtime was not
        registered."""
        asked, after = self._clock(), self._position or Position()
        with wait.shared():
            poll = await self._poll(after)
        if not poll.registered:
            self.lease.until = 0.0
            self._unsettle()
        if poll.changed and not await self._follow(poll.changed):
            # Not acknowledged: the runtime that raised the level waits until this one has closed everything.
            return poll.registered
        with wait.shared():
            registered = poll.registered and await self._acknowledged(after, poll.position)
            if not registered:
                self.lease.until = 0.0
                # The row has the position that is applied here: no raise after that one counts as acknowledged.
                await self._store.register(self._id, time(), poll.position)
        self._position = poll.position
        if registered:
            self.lease.until = asked + HOLDS
        return registered

    async def _poll(self, after: Position) -> Poll:
        began = self._clock()
        poll = await self._store.poll(self._id, after)
        ended = self._clock()
        self._sightings.add(poll.runtimes, began, ended)
        if not poll.registered:
            self._unsure = ended + PATIENCE
        return poll

    async def _acknowledged(self, after: Position, position: Position) -> bool:
        """Acknowledge what was applied, if anything. False if this runtime is no longer registered."""
        # Before the lease is good again: a raise may have given this runtime up meanwhile, and another one not waited
        # for it.
        return position == after or await self._store.acknowledge(self._id, position)


def _in_words(acknowledged: int, run_out: int, *, deregistered: bool) -> str:
    words = [f"{acknowledged} other runtimes acknowledged"] if acknowledged else []
    words += [f"the leases of {run_out} have run out"] if run_out else []
    words += ["this runtime was not registered, so all leases were waited for"] if deregistered else []
    return ", ".join(words) or "no other runtime had to be waited for"


def _lost(receipt: Receipt | None) -> StoreError:
    return StoreError(
        "the store has lost this change",
        evidence="the last receipt is gone" if receipt is None else f"receipt {receipt.number} is gone, or another one",
        cause="an older copy of the database, such as a backup or a replica that was behind, has taken its place",
        fix="put the newer database back; `bascule doctor` looks at the store",
    )
