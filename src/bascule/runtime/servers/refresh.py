"""Refresh of tool listings: a listing that has changed or expired is fetched again over the same link."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Protocol

from bascule.catalog.pages import Pages
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.errors import BasculeError
from bascule.core.events import RefreshFailed
from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask
from bascule.runtime.servers.per_principal import Whose, drop_principal, drop_server
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.listing import list_tools
from bascule.upstream.notifications import Kind

SHORTEST_TTL = 5.0
"""Seconds for which a listing holds at least. Many servers say that theirs holds for none, and mean that they do not
know; each look would then ask them again."""

SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
BUSIEST_PAUSE = 1.0
"""Seconds between two listings while a server tells of changes again and again. They double, up to the last if each
listing is indeed another one, so a flood of notices makes a trickle of listings."""

REST = 4.0
"""How much longer than a listing took the pause after it is, at least: a long list must not keep us busy for good."""

_log = logging.getLogger("bascule.runtime")


class Catalogue(Protocol):
    """Where listings are put."""

    @property
    def servers(self) -> Mapping[str, ServerConfig]: ...
    @property
    def masks(self) -> Mapping[str, Mask]: ...

    async def take(self, link: Link) -> None:
        """Put what the link listed when it opened into the catalog, unless that was done."""
        ...

    async def replace(self, link: Link, pages: Pages) -> bool:
        """Put a later listing in its place. Whether it is another one."""
        ...


class Pursuit:
    """The following of one link's changes: one listing at a time, and one more if changes were told meanwhile."""

    __slots__ = ("again", "link", "listed", "task")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.again = False
        self.listed = asyncio.Event()
        """Set once the tools were listed anew, or could not be."""
        self.task: asyncio.Task[None] | None = None


class Refreshing:
    """Follows the changes of all servers of a runtime. Every failure is told, and leaves what was there."""

    def __init__(
        self,
        catalogue: Catalogue,
        tell: Callable[[RefreshFailed], None],
        clock: Callable[[], float],
        heard: Callable[[LinkKey, Kind], None] | None = None,
    ) -> None:
        """`heard` is told of everything that servers say has changed."""
        self._catalogue = catalogue
        self._tell = tell
        self._clock = clock
        self._heard = heard
        self._pursuits: dict[LinkKey, Pursuit] = {}
        self._until: dict[Whose, float] = {}
        self._troubles: dict[Whose, str] = {}
        self._moves: dict[Whose, int] = {}

    def on_change(self, link: Link, kind: Kind) -> None:
        """Take what a server says has changed. Offers beside tools are listed when somebody looks, tools at once."""
        if self._heard is not None:
            self._heard(link.key, kind)
        if kind != "tools":
            whose = _whose(link)
            self._moves[whose] = self._moves.get(whose, 0) + 1
            return
        pursuit = self._pursuits.get(link.key)
        if pursuit is None:
            self._pursue(link)
        else:
            pursuit.link, pursuit.again = link, True

    def moves(self, principal: Principal, server: str) -> int:
        """How often the server has said that what it offers beside tools has changed."""
        return self._moves.get((principal, server), 0)

    def trouble(self, principal: Principal, server: str) -> str:
        """Why what is known of a server's tools may be out of date."""
        return self._troubles.get((principal, server), "")

    def catalogued(self, principal: Principal, server: str, ttl: float | None) -> None:
        """A listing was put into the catalog, which holds for so many seconds."""
        self._troubles.pop((principal, server), None)
        self._until[principal, server] = inf if ttl is None else _now() + max(ttl, SHORTEST_TTL)

    def has_run_out(self, link: Link) -> bool:
        return _now() >= self._until.get(_whose(link), inf)

    async def look(self, link: Link) -> None:
        """List anew what has run out, once for all who look at the same time."""
        pursuit = self._pursuits.get(link.key) or self._pursue(link)
        await pursuit.listed.wait()

    def let_go(self, principal: Principal, servers: Iterable[str]) -> None:
        """Keep nothing of what was listed for one principal."""
        drop_principal((self._until, self._troubles, self._moves), principal, servers)

    def forget(self, server: str) -> None:
        """What was known of a server says nothing any more."""
        drop_server((self._until, self._troubles, self._moves), server)

    async def close(self) -> None:
        """Follow nothing any more."""
        tasks = [pursuit.task for pursuit in self._pursuits.values() if pursuit.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _pursue(self, link: Link) -> Pursuit:
        pursuit = self._pursuits[link.key] = Pursuit(link)
        pursuit.task = asyncio.create_task(self._follow(pursuit))
        return pursuit

    async def _follow(self, pursuit: Pursuit) -> None:
        pause = SHORTEST_PAUSE
        try:
            while True:
                pursuit.again = False
                began = _now()
                changed = await self._list(pursuit.link)
                pursuit.listed.set()
                await asyncio.sleep(max(pause, REST * (_now() - began)))
                if not pursuit.again:
                    return
                pause = min(2 * pause, BUSIEST_PAUSE if changed else LONGEST_PAUSE)
        finally:
            pursuit.listed.set()
            del self._pursuits[pursuit.link.key]

    async def _list(self, link: Link) -> bool:
        """List the tools anew. Whether the catalog has become another."""
        server = self._catalogue.servers.get(link.key.server)
        if server is None:
            return False
        pages = Pages()
        try:
            await link.opened()
            await self._catalogue.take(link)
            shortcoming = await list_tools(link, pages, server.timeouts.list)
            if not link.usable:
                # Another link may have listed since, and what it listed is newer.
                return False
            changed = await self._catalogue.replace(link, pages)
        except BasculeError as error:
            self._fail(link, error)
            return False
        link.restate(shortcoming)
        return changed

    def _fail(self, link: Link, error: BasculeError) -> None:
        if not link.usable:
            return  # that its link has ended is told by itself
        whose, key = _whose(link), link.key
        self._until[whose] = _now() + SHORTEST_TTL
        reason = self._catalogue.masks.get(key.server, Mask()).error(error).message
        if self._troubles.get(whose) != reason:
            self._troubles[whose] = reason
            _log.warning("the tools of %s could not be listed anew: %s", key.server, reason)
            self._tell(RefreshFailed(key.server, key.lane, key.principal, reason, self._clock()))


def _whose(link: Link) -> Whose:
    return link.key.principal, link.key.server


def _now() -> float:
    return asyncio.get_running_loop().time()
