"""Replacement of sandboxes after a raise: those on a wider lane have ended before the raise is done, and tighter ones
start in their place."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Protocol

from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import BasculeError, SandboxError
from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import Lane
from bascule.runtime.servers.lane_links import ways_of
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.pool import Pool

TRIAL = Nobody("bascule", "trial")
"""On whose behalf a box is tried."""


class Servers(Protocol):
    """What is asked of whoever holds the links."""

    @property
    def servers(self) -> Mapping[str, ServerConfig]: ...
    @property
    def boxed(self) -> Callable[[ServerConfig], bool]: ...
    def key(self, principal: Principal, server: str, lane: Lane) -> LinkKey: ...
    def lane(self, principal: Principal, server: str) -> Lane: ...
    async def ahead(self, key: LinkKey) -> bool: ...
    @property
    def links(self) -> Pool: ...


class Tightening:
    """The boxes that are on their way out, and which principals want tighter ones in their place."""

    def __init__(self, roster: Servers) -> None:
        self._roster = roster
        self._ending: set[Link] = set()
        self._wanted: dict[Principal, set[str]] = {}

    def began(self, principal: Principal, severed: Iterable[Link]) -> None:
        """These links were ended because they are too wide."""
        for link in severed:
            server = self._roster.servers.get(link.key.server)
            if server is None or not self._roster.boxed(server):
                continue
            self._ending.add(link)
            if link.ready_at is not None:
                # Nobody waits for a twin of what had not been of use yet.
                self._wanted.setdefault(principal, set()).add(server.name)

    def standby(self, principal: Principal, name: str) -> list[LinkKey]:
        """The links of twins that are to be there before they are needed, where the operator wants that."""
        server = self._roster.servers.get(name)
        if server is None or server.twin != "eager" or server.vouched is not None or isinstance(principal, Nobody):
            return []
        tighter = [lane for lane in ways_of(server, boxed=self._roster.boxed(server)) if lane is not Lane.OPEN]
        keys = [self._roster.key(principal, name, lane) for lane in tighter]
        return [key for key in keys if self._roster.links.find(key) is None]

    async def prove_sealed(self, name: str) -> None:
        """Try a server once on its sealed lane, on nobody's behalf. Raises why it cannot be used there."""
        key = self._roster.key(TRIAL, name, Lane.SEALED)
        try:
            await self._roster.ahead(key)
        finally:
            await self._roster.links.close([key])

    async def cut(self) -> None:
        """Wait until nothing runs in them any more. Raises `SandboxError` if something may, in spite of all."""
        remains: list[SandboxError] = []
        while self._ending:
            ending = tuple(self._ending)
            await asyncio.gather(*(link.over() for link in ending))
            self._ending.difference_update(ending)
            remains += [error for link in ending if (error := link.remains) is not None]
        if remains:
            raise remains[0].with_traceback(None)

    async def make_again(self, principal: Principal) -> None:
        """Have a principal's boxes back, each on the lane that it is now on. What cannot be had is told when it is
        needed, and none is waited for longer than a server may take to come back."""
        wanted = self._wanted.pop(principal, set())
        await asyncio.gather(*(self._again(principal, name) for name in sorted(wanted)))

    async def _again(self, principal: Principal, name: str) -> None:
        server = self._roster.servers.get(name)
        if server is None:
            return
        key = self._roster.key(principal, name, self._roster.lane(principal, name))
        with suppress(BasculeError, TimeoutError):
            async with asyncio.timeout(server.timeouts.reconnect):
                await self._roster.ahead(key)
