"""All links of a runtime, by key: gives out a ready one, opening it on first need, and ends them all."""

import asyncio
from collections.abc import Callable, Collection, Iterable

from bascule.core.errors import ConnectionLost, PeerError
from bascule.links.gate import StartGate
from bascule.links.key import LinkKey
from bascule.links.link import Link, LinkPlan
from bascule.links.terms import Learned


class Switchboard:
    """One live link per key. A link that has ended is forgotten; the next who asks gets a new one."""

    def __init__(self, plan_for: Callable[[LinkKey], LinkPlan], starting: int, changed: Callable[[Link], None]) -> None:
        self._plan_for = plan_for
        self._gate = StartGate(starting)
        self._changed = changed
        self._links: dict[LinkKey, Link] = {}
        self._ending: set[Link] = set()
        self._learned: dict[str, Learned] = {}
        self._closed = False

    def ready(self, key: LinkKey) -> Link | None:
        """The link of this key if it can be used this instant. What most calls need, without waiting."""
        link = self._links.get(key)
        return link if link is not None and link.usable else None

    async def lease(self, key: LinkKey) -> Link:
        """A ready link, opened if need be. Raises why there is none."""
        link = self._links.get(key)
        if link is None or not self._alive(link):
            link = self._open(key)
        try:
            await link.opened()
        except PeerError:
            # What is remembered may be what is wrong: the server can have been replaced by a newer one.
            self._learned.pop(key.server, None)
            raise
        if not link.retired:
            self._learned[key.server] = link.learned
        return link

    def links(self) -> Iterable[Link]:
        return tuple(self._links.values())

    def find(self, key: LinkKey) -> Link | None:
        """The latest link of this key, whatever its state."""
        return self._links.get(key)

    async def close(self, keys: Iterable[LinkKey] | None = None) -> None:
        """Close these links, or all of them and the switchboard with them."""
        if keys is None:
            self._closed = True
        wanted = None if keys is None else set(keys)
        closing = [link for link in self._all() if wanted is None or link.key in wanted]
        await asyncio.gather(*(link.close() for link in closing))

    def retire(self, servers: Collection[str], reason: str) -> list[Link]:
        """End every link to these servers at once, and forget what they have shown: the next one may lead to another
        server. Those that end are given back; nothing is waited for."""
        retired = [link for link in self._all() if link.key.server in servers]
        for link in retired:
            link.retire(reason)
        self._ending = {link for link in (*self._ending, *retired) if not link.ended}
        self._links = {key: link for key, link in self._links.items() if key.server not in servers}
        for server in servers:
            self._learned.pop(server, None)
        return retired

    def _all(self) -> tuple[Link, ...]:
        return (*self._links.values(), *self._ending)

    def _alive(self, link: Link) -> bool:
        return not link.ended and (link.usable or not link.settled)

    def _open(self, key: LinkKey) -> Link:
        if self._closed:
            raise ConnectionLost("the runtime is closed", sent=False)
        previous = self._links.get(key)
        if previous is not None and not previous.ended:
            # It is dead but not yet cleaned up. Its owner finishes that; nobody but our own close has to wait for it.
            self._ending = {link for link in self._ending if not link.ended} | {previous}
        plan = self._plan_for(key)
        learned = self._learned.get(key.server, Learned())
        era = learned.era if plan.terms.era == "auto" else plan.terms.era
        link = Link(plan.by_older_way() if learned.older_way else plan, self._gate, era, self._changed)
        link.older_way = learned.older_way
        link.first_start = previous is None
        self._links[key] = link
        link.start()
        return link
