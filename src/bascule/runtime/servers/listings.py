"""Tool listings of each server per principal, judged by the operator's exposure and the lock, with quarantine events.
Interns toolboxes: agent sessions with identical listings share one."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from bascule.catalog.entry import Entry
from bascule.catalog.judgement import Judge, ServerJudge, TwinJudge
from bascule.catalog.pages import Pages
from bascule.catalog.pinning.lock import Lock
from bascule.catalog.server_listing import Removed, ServerListing, catalog_listing, exposed_tools, rejudged
from bascule.catalog.toolbox import Toolbox
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.core.events import CatalogChanged, ToolsQuarantined
from bascule.core.principal import Principal
from bascule.core.tool import ToolStatus
from bascule.policy.exposure import Exposure
from bascule.policy.permissions import ServerWord
from bascule.runtime.servers.listing_history import ListingMemory
from bascule.runtime.servers.lock import Locking, lock_path
from bascule.runtime.servers.per_principal import Whose, drop_principal, drop_server
from bascule.upstream.key import SHARED
from bascule.upstream.link import Link
from bascule.upstream.notifications import KINDS, Kind


def judge_of(server: ServerConfig, exposure: Exposure, lock: Lock) -> Judge:
    """Judges the tools of one server by what holds now."""
    word = ServerWord(server.permissions, server.trust)
    return ServerJudge(server.name, lock, exposure.permits, word.permissions)


class Quarantine:
    """What was last told of each server's quarantined tools."""

    def __init__(self, tell: Callable[[ToolsQuarantined], None], clock: Callable[[], float]) -> None:
        self._tell = tell
        self._clock = clock
        self._known: dict[str, frozenset[str]] = {}

    def follow(self, listing: ServerListing) -> None:
        """Tell what is new about a listing that holds from now on."""
        entries = listing.entries.items()
        now = frozenset(tool for tool, entry in entries if entry.spec.status is ToolStatus.QUARANTINED)
        before = self._known.get(listing.server, frozenset())
        if now != before:
            self._known[listing.server] = now
            added, released = sorted(now - before), sorted(before - now)
            self._tell(ToolsQuarantined(listing.server, tuple(added), tuple(released), self._clock()))

    def forget(self, server: str) -> None:
        """What was known of a server says nothing any more."""
        self._known.pop(server, None)


MOST_TOOLBOXES = 64
"""Toolboxes kept. Agent sessions see one of a few; a server that lists differently every time must not fill memory."""


class Toolboxes:
    """One toolbox for all agent sessions that see the same listings: they are large, and mostly the same."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse = refuse
        self._made: dict[tuple[int, ...], tuple[Toolbox, tuple[ServerListing, ...]]] = {}

    def of(self, listings: tuple[ServerListing, ...]) -> Toolbox:
        key = tuple(map(id, listings))
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= MOST_TOOLBOXES:
                self._made.pop(next(iter(self._made)))
            # The listings are kept beside it, so that none of their ids can come to mean another one.
            found = self._made[key] = (Toolbox(listings, refuse=self.refuse), listings)
        return found[0]


LARGE_LISTING = 256 * 1024
"""Bytes of a listing from which it is read in a thread."""


class Clocked(Protocol):
    """Who has to know how long a listing holds."""

    def catalogued(self, principal: Principal, server: str, ttl: float | None) -> None: ...


class Listings:
    """The listings of all servers. `version` moves whenever what an agent session can see may have changed."""

    def __init__(
        self, config: RuntimeConfig, memory: ListingMemory, tell: Callable[[CatalogChanged | ToolsQuarantined], None]
    ) -> None:
        self.servers = config.servers
        self.memory = memory
        self.version = 0
        self.editions = Counter[str]()
        """By server: moves whenever what was listed before says nothing any more, because its config was changed."""
        self.refuse = config.screen == "refuse"
        """Whether what screening finds something in is kept from agents."""
        self.locking = Locking(config.lock, lock_path(config.path))
        self.exposures = _exposures(config.servers)
        self.on_change: Callable[[Principal | None], None] | None = None
        """Told that what one principal is shown may have changed, or what everyone is."""
        self._tell = tell
        self._quarantine = Quarantine(tell, time.time)
        self._toolboxes = Toolboxes(refuse=self.refuse)
        self._removed: dict[Whose, Removed] = {}
        self._known: dict[Whose, ServerListing] = {}
        self._latest: dict[str, ServerListing] = {}
        self._capabilities: dict[Whose, Mapping[str, Any]] = {}

    def toolbox(self, principal: Principal) -> Toolbox:
        """All that was listed for one principal so far."""
        listings = (self.of(principal, name) for name in self.servers)
        return self._toolboxes.of(tuple(listing for listing in listings if listing is not None))

    def of(self, principal: Principal, server: str) -> ServerListing | None:
        return self._known.get(self.whose(principal, server))

    def latest(self, server: str) -> ServerListing | None:
        """What a server listed last, for anyone."""
        return self._latest.get(server)

    def entries(self, principal: Principal, server: str) -> Mapping[str, Entry]:
        """What one server has listed for a principal, of every status, by its own names."""
        found = self.of(principal, server)
        return {} if found is None else found.entries

    def capabilities_of(self, principal: Principal, server: str) -> Mapping[str, Any]:
        """What the server said it can do when it was last linked to. Nothing, before that."""
        return self._capabilities.get(self.whose(principal, server), {})

    def exposed(self, principal: Principal, server: str) -> int:
        """How many of a server's tools an agent is shown."""
        listing = self.of(principal, server)
        return exposed_tools(listing, refuse=self.refuse) if listing is not None else 0

    def remover_of(self, principal: Principal, name: str) -> str | None:
        """The server that has removed the tool of this name, if the principal may know that there was one."""
        for server, exposure in self.exposures.items():
            removed = self._removed.get(self.whose(principal, server))
            tool = removed.tool(name) if removed is not None else None
            if tool is not None and exposure.permits(tool):
                return server
        return None

    def whose(self, principal: Principal, server: str) -> Whose:
        """Under whom a server's listing is kept. Who shares a link shares what it lists."""
        config = self.servers.get(server)
        return (SHARED if config is not None and config.lifetime == "shared" else principal), server

    async def follow_lock(self) -> None:
        """Judge all tools anew, if the lock is another one than when they were judged."""
        if await self.locking.look():
            listings = {*self._known.values(), *self._latest.values()}
            anew = {listing: rejudged(listing, self._judge(listing.server)) for listing in listings}
            self._known = {whose: anew[listing] for whose, listing in self._known.items()}
            self._latest = {name: anew[listing] for name, listing in self._latest.items()}
            self._moved(None)
            for listing in self._latest.values():
                self._quarantine.follow(listing)

    async def read_twin(self, link: Link, pages: Pages, original: ServerListing) -> ServerListing:
        """What a twin has listed. Its tools count as approved where the server's own are: nobody approves a twin."""
        digests = {tool: entry.spec.digest for tool, entry in original.entries.items()}
        return await self._read(link, pages, None, TwinJudge(self._judge(link.key.server), digests))

    async def _read(self, link: Link, pages: Pages, previous: ServerListing | None, judge: Judge) -> ServerListing:
        """What a link has listed, as it would stand in the catalog."""
        name = link.key.server
        instructions = link.agreement.instructions if link.agreement is not None else ""
        read = partial(catalog_listing, name, self.servers[name].tool_prefix, pages, previous, judge, instructions)
        # Thousands of tools take a second to read, in which nobody else would be served.
        large = pages.size + len(instructions) > LARGE_LISTING
        listing, _ = await asyncio.to_thread(read) if large else read()
        return listing

    def _judge(self, server: str) -> Judge:
        return judge_of(self.servers[server], self.exposures[server], self.locking.lock)

    async def take(self, link: Link, pages: Pages, clocked: Clocked) -> bool:
        """Take over what a link has listed. Whether it is something else than before."""
        await self.follow_lock()
        principal, name = link.key.principal, link.key.server
        edition, lock = self.editions[name], self.locking.lock
        if link.retired:
            return False
        previous = self._known.get((principal, name)) or self._latest.get(name)
        listing = await self._read(link, pages, previous, self._judge(name))
        if self.editions[name] != edition:
            return False
        listing = listing if self.locking.lock is lock else rejudged(listing, self._judge(name))
        changed = self.show(link, listing)
        self._latest[name] = listing
        self._quarantine.follow(listing)
        clocked.catalogued(principal, name, pages.ttl)
        change = await self.memory.note(link.key.lane, listing)
        if change is not None:
            self._tell(change)
        return changed

    def show(self, link: Link, listing: ServerListing) -> bool:
        """Show a listing to whoever the link is for. Whether it is another one than before."""
        principal, name = link.key.principal, link.key.server
        if link.agreement is not None:
            self._capabilities[principal, name] = link.agreement.capabilities
        shown = self._known.get((principal, name))
        if listing is shown:
            return False
        if shown is not None:
            # Remembered is what a principal was shown and is no more.
            removed = self._removed.setdefault((principal, name), Removed())
            removed.follow(shown.entries, listing.entries, refuse=self.refuse)
        self._known[principal, name] = listing
        self._moved(principal)
        return True

    def adopt(self, servers: Mapping[str, ServerConfig]) -> None:
        self.servers = servers
        self.exposures = _exposures(servers)
        self._moved(None)

    def _moved(self, principal: Principal | None) -> None:
        self.version += 1
        if self.on_change is not None:
            self.on_change(principal)

    def prints(self, principal: Principal, moved: Mapping[tuple[Principal, str, Kind], int]) -> dict[Kind, Any]:
        """Something for each list that is another thing once the list is another one, as far as its server says."""
        found: dict[Kind, Any] = {
            "tools": tuple(part for spec in self.toolbox(principal).specs() for part in (spec.name, spec.digest))
        }
        for kind in KINDS[1:]:
            offering = [name for name in self.servers if kind in self.capabilities_of(principal, name)]
            found[kind] = tuple(
                part
                for name in offering
                for part in (name, self.editions[name], moved.get((*self.whose(principal, name), kind), 0))
            )
        return found

    def let_go(self, principal: Principal) -> None:
        """Keep nothing of what was listed for one principal."""
        drop_principal((self._known, self._capabilities, self._removed), principal, self.servers)

    def forget(self, server: str) -> None:
        """All that was known of a server says nothing any more."""
        self.editions[server] += 1
        self.version += 1
        self._latest.pop(server, None)
        self._quarantine.forget(server)
        self.memory.changes.pop(server, None)
        drop_server((self._known, self._capabilities, self._removed), server)


def _exposures(servers: Mapping[str, ServerConfig]) -> dict[str, Exposure]:
    return {name: Exposure.of(server.allow, server.block) for name, server in servers.items()}
