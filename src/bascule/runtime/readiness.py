"""Readiness check of a runtime: store lease, audit log and required servers, from facts that are already known."""

import asyncio
from collections.abc import Callable

from bascule.core.sensitivity import Lane
from bascule.records.recorder import Recorder
from bascule.runtime.servers.registry import STARTING, Roster
from bascule.sensitivity.lease import Lease

STORE = "store"
"""Its lease has run out: the store cannot be asked, so nothing may be written where there is a way out."""
AUDIT = "audit"
"""What is done cannot be written down, so what writes or reaches out is refused."""
REQUIRED = "required-server"
"""A server without which agents must not work cannot be used."""

TRY_EVERY = 10.0
"""Seconds between two tries of a required server that is down. Who is not ready is sent no calls, and only a call would
try it: so the looking itself does."""


class Readiness:
    """What stands in the way. Cheap: nothing is asked that is not known, but for a server that is known to be down."""

    def __init__(self, roster: Roster, lease: Lease, recorder: Recorder, clock: Callable[[], float]) -> None:
        self._roster = roster
        self._lease = lease
        self._audit = recorder.audit
        self._failing = recorder.failing
        self._clock = clock
        self._tried = 0.0
        self._trying: asyncio.Task[None] | None = None

    def reasons(self) -> tuple[str, ...]:
        """Why requests had better go elsewhere, in words that are no secret. Empty: they are welcome."""
        found = [STORE] if not self._lease.valid() else []
        if self._audit is not None and self._audit.stuck:
            found.append(AUDIT)
        down = self._required_down()
        if down:
            found.append(REQUIRED)
            self._try(down)
        return tuple(found)

    async def close(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait((self._trying,))

    def _required_down(self) -> list[str]:
        """Those that failed last, and that nobody has a link to."""
        servers, links = self._roster.servers, self._roster.links.links()
        down = [name for name in self._failing.servers if name in servers and servers[name].required]
        return [name for name in down if not any(link.usable for link in links if link.key.server == name)]

    def _try(self, names: list[str]) -> None:
        now = self._clock()
        if now - self._tried < TRY_EVERY or (self._trying is not None and not self._trying.done()):
            return
        self._tried = now
        self._trying = asyncio.create_task(self._prove(names), name="readiness")

    async def _prove(self, names: list[str]) -> None:
        """What comes of it is heard of as every change of a link is."""
        roster = self._roster
        try:
            await asyncio.gather(*(roster.settle(STARTING, name) for name in names))
        finally:
            await roster.links.close([roster.key(STARTING, name, Lane.OPEN) for name in names])
