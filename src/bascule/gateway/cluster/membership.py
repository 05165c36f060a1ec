"""Cluster membership of this process: its heartbeat in the store, the agent sessions that it owns, and the other
members. Ownership is held in memory while the heartbeat is fresh, so a request for an owned agent session does not
query the store."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from math import inf

import msgspec

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.sensitivity.lease import since_boot
from bascule.store.owners import LIFE, Member, OwnerStore

HOLDS = LIFE - 1.0
"""Seconds for which a word of the store is good. Shorter than others wait: their clock may run faster than ours."""

INTERVAL = 0.75
"""Seconds between two words. One can fail before what we own is no longer ours."""

GLANCE = 0.05
"""Seconds between two looks at what is still ours, at the end."""

TAKING = 3.0
"""Seconds for which one who leaves still takes requests of agent sessions that are never idle."""

MOST_REMEMBERED = 10_000
"""Agent sessions of others whose owner is remembered. Of more, the store is asked."""

_log = logging.getLogger("bascule.gateway")

LetGo = Callable[[Principal], None]
"""Ends, in this step, all that is open on behalf of a principal that is no longer ours."""


class Held:
    """What we own of one principal: how many of its requests are under way."""

    __slots__ = ("requests",)

    def __init__(self) -> None:
        self.requests = 0


class Membership:
    """One member. Opened before the first request, closed after the last."""

    def __init__(self, store: OwnerStore, address: str, let_go: LetGo, clock: Callable[[], float] = since_boot) -> None:
        self._store = store
        self._let_go = let_go
        self._clock = clock
        self.me = Member(_new_id(), address)
        self.members: dict[str, Member] = {}
        """Everyone who was alive a moment ago, by id."""
        self._until = 0.0
        self._taking_until = inf
        self._mine: dict[Principal, Held] = {}
        self._theirs: dict[Principal, str] = {}
        self._claiming: dict[Principal, asyncio.Task[str]] = {}
        self._waiting: dict[str, set[asyncio.Timeout]] = {}
        self._tending: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        await self._join()
        await self._renew()
        self._tending = asyncio.create_task(self._tend(), name="membership")

    async def close(self) -> None:
        """Own nothing any more, and say so."""
        self._until = 0.0
        tasks = [*self._releasing, *self._claiming.values()]
        if self._tending is not None:
            self._tending.cancel()
            tasks.append(self._tending)
        if tasks:
            await asyncio.wait(tasks)
        try:
            await self._store.leave(self.me.id)
        except StoreError as error:
            # Others wait until our time is over.
            _log.warning("the store could not be told that this worker ends: %s", error.message)

    # What is ours

    def owns(self, principal: Principal) -> bool:
        return principal in self._mine and self._clock() < self._until

    def takes(self, principal: Principal) -> bool:
        """Whether a new request of what is ours is taken. Whoever leaves takes some for a while, lest others have to
        wait for what is under way; but not for ever, or it would never be idle."""
        return self.owns(principal) and self._clock() < self._taking_until

    @contextmanager
    def holding(self, principal: Principal) -> Generator[None]:
        """A request of what is ours: until it ends, it stays ours."""
        held = self._mine[principal]
        held.requests += 1
        try:
            yield
        finally:
            held.requests -= 1
            # It may have been lost meanwhile, where others waited for us in vain.
            if not held.requests and self.me.leaving and self._mine.get(principal) is held:
                self._release(principal)

    async def owner(self, principal: Principal) -> Member | None:
        """Who serves this agent session: we, if nobody else does. None if that cannot be said now."""
        if self.takes(principal):
            return self.me
        known = self.members.get(self._theirs.get(principal, ""))
        if known is not None:
            return known
        if self.me.leaving:
            return self._successor()
        return await self._claim(principal)

    def forget(self, principal: Principal, to: str = "") -> None:
        """It is no longer where we believed, but perhaps there."""
        self._theirs.pop(principal, None)
        if to in self.members and to != self.me.id:
            self._remember(principal, to)

    async def bury(self, member: Member, principal: Principal) -> None:
        """The process of a member has ended: what it owned may be taken at once."""
        self._drop(member.id)
        if not self.me.leaving:
            await self._claim(principal, gone=member.id)

    async def retire(self) -> None:
        """Give away what is ours: what is idle now, all else when its last request has ended. Claim nothing more."""
        self.me = msgspec.structs.replace(self.me, leaving=True)
        self._taking_until = self._clock() + TAKING
        # Whoever was started in our place is known from here on.
        with suppress(StoreError):
            await self._renew()
        for principal in [principal for principal, held in self._mine.items() if not held.requests]:
            self._release(principal)

    async def given_away(self) -> None:
        """Wait until nothing is ours any more."""
        while self._mine or self._releasing:  # noqa: ASYNC110 -- once, at the end
            await asyncio.sleep(GLANCE)

    async def is_alone(self) -> bool:
        """Whether nobody else is there who stays."""
        with suppress(StoreError):
            await self._renew()
        return self._successor() is None

    # Others

    @contextmanager
    def relying_on(self, member: Member, limit: asyncio.Timeout) -> Generator[None]:
        """Something is awaited from a member. If it dies without a word, what is awaited times out."""
        waiting = self._waiting.setdefault(member.id, set())
        waiting.add(limit)
        try:
            yield
        finally:
            waiting.discard(limit)
            if not waiting and self._waiting.get(member.id) is waiting:
                del self._waiting[member.id]

    async def find(self, member: str) -> Member | None:
        """One that is alive, also if it has only just come."""
        if member not in self.members:
            with suppress(StoreError):
                await self._renew()
        return self.members.get(member)

    def _successor(self) -> Member | None:
        """Who may have what we give away."""
        return next((each for each in self.members.values() if not each.leaving and each.id != self.me.id), None)

    def _drop(self, member: str) -> None:
        self.members.pop(member, None)
        now = asyncio.get_running_loop().time()
        for limit in self._waiting.pop(member, ()):
            limit.reschedule(now)

    # The store

    async def _claim(self, principal: Principal, gone: str = "") -> Member | None:
        """Once for all who ask."""
        claiming = self._claiming.get(principal)
        if claiming is None:
            claiming = asyncio.create_task(self._claimed(principal, gone))
            self._claiming[principal] = claiming
            claiming.add_done_callback(lambda _: self._claiming.pop(principal, None))
        try:
            owner = await asyncio.shield(claiming)
        except StoreError as error:
            _log.warning("the store could not be asked who serves an agent session: %s", error.message)
            return None
        return self.me if owner == self.me.id and self.owns(principal) else self.members.get(owner)

    async def _claimed(self, principal: Principal, gone: str) -> str:
        me = self.me.id
        owner = await self._store.claim(principal, me, gone)
        if owner != me and owner not in self.members and owner:
            # Somebody who has just come.
            await self._renew()
        if me != self.me.id or self.me.leaving:
            if owner == me:
                # What we are about to give away, or were given up with.
                await self._store.release(me, (principal,))
            return ""
        if owner == me:
            self._mine.setdefault(principal, Held())
        elif owner in self.members:
            self._remember(principal, owner)
        return owner

    def _remember(self, principal: Principal, owner: str) -> None:
        if not self.members[owner].leaving and len(self._theirs) < MOST_REMEMBERED:
            self._theirs[principal] = owner

    def _release(self, principal: Principal) -> None:
        del self._mine[principal]
        self._let_go(principal)
        task = asyncio.create_task(self._released(principal))
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    async def _released(self, principal: Principal) -> None:
        with suppress(StoreError):  # then it is free when our time is over
            await self._store.release(self.me.id, (principal,))

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                await self._renew()
            except StoreError as error:
                _log.warning("the store could not be told that this worker lives: %s", error.message)
            if self._clock() >= self._until:
                self._lose()

    async def _join(self) -> None:
        asked = self._clock()
        await self._store.join(self.me)
        self._until = asked + HOLDS

    async def _renew(self) -> None:
        asked = self._clock()
        alive = await self._store.renew(self.me)
        if alive is None:
            # Others may have taken what was ours. We are nobody they know, until we come as somebody new.
            self._until = 0.0
            self._lose()
            self.me = msgspec.structs.replace(self.me, id=_new_id())
            await self._join()
            return
        self._until = asked + HOLDS
        self._see({member.id: member for member in alive})

    def _see(self, alive: dict[str, Member]) -> None:
        if alive == self.members:
            return
        for member in [member for member in self.members if member not in alive]:
            self._drop(member)
        self.members = alive
        staying = {member.id for member in alive.values() if not member.leaving}
        self._theirs = {principal: owner for principal, owner in self._theirs.items() if owner in staying}

    def _lose(self) -> None:
        """What we could not keep is not ours: nothing that is open for it may go on."""
        lost, self._mine = self._mine, {}
        for principal in lost:
            self._let_go(principal)


def _new_id() -> str:
    return secrets.token_hex(8)
