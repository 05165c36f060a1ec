"""The configured servers: how to link to each, what each has listed for whom, and how each stands."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

from bascule.catalog.listing import Pages
from bascule.catalog.removed import Removed
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.catalog.toolbox import Toolbox
from bascule.config.model import RuntimeConfig, ServerConfig
from bascule.core.errors import BasculeError, ConnectFailed, LoginNeeded, UsageError
from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolStatus
from bascule.links.announcer import Announcer
from bascule.links.key import SHARED, LinkKey
from bascule.links.link import Link
from bascule.links.plans import Plans
from bascule.links.pool import Pool
from bascule.links.reception import Reception
from bascule.links.state import LinkState, failed
from bascule.policy.exposure import Exposure
from bascule.records.recorder import Recorder
from bascule.runtime.linking import mask_of, plan_of
from bascule.runtime.memory import ListingMemory, OfferKind
from bascule.runtime.refreshing import Refreshing
from bascule.runtime.report import ServerReport
from bascule.runtime.toolboxes import Toolboxes
from bascule.transports.http_credentials import Credentials
from bascule.transports.http_logins import Logins, no_login, target_of

STARTING = Nobody("bascule", "start")
"""On whose behalf a `required` server is tried when the runtime starts. Its links close before anyone is served."""


LARGE_LISTING = 256 * 1024
"""Bytes of a listing from which it is read in a thread."""


class Roster:
    """All servers of one runtime. `version` moves whenever what an agent session can see may have changed."""

    def __init__(
        self,
        config: RuntimeConfig,
        recorder: Recorder,
        memory: ListingMemory,
        clock: Callable[[], float],
        reception: Reception,
        logins: Logins,
    ) -> None:
        self.servers: Mapping[str, ServerConfig] = config.servers
        self.memory = memory
        self._record = recorder.record
        self.masks = {name: mask_of(server) for name, server in config.servers.items()}
        self._logins = logins
        self.refreshing = Refreshing(self, self._record, clock)
        plan = partial(
            plan_of,
            max_message=config.message_max,
            reception=reception,
            logins=logins,
            on_change=self.refreshing.on_change,
        )
        plans = Plans({name: plan(server, self.masks[name]) for name, server in config.servers.items()})
        announcer = Announcer(self._record, clock)
        self.links = Pool(plans.plan_for, announcer, most=config.links_max, starting=config.links_starting)
        self.version = 0
        self.refuse = config.screen == "refuse"
        """Whether what screening finds something in is kept from agents."""
        self._toolboxes = Toolboxes(refuse=self.refuse)
        self._reading: set[asyncio.Task[bool]] = set()
        self._removed: dict[tuple[Principal, str], Removed] = {}
        self._listings: dict[tuple[Principal, str], ServerListing] = {}
        self._latest: dict[str, ServerListing] = {}
        self._capabilities: dict[tuple[Principal, str], Mapping[str, Any]] = {}
        self._errors: dict[tuple[Principal, str], BasculeError] = {}
        self._seconds: dict[tuple[Principal, str], float] = {}
        self.exposures = {name: Exposure.of(server.allow, server.block) for name, server in self.servers.items()}

    def toolbox(self, principal: Principal) -> Toolbox:
        """All that was listed for one principal so far."""
        listings = (self._listings.get(self._whose(principal, name)) for name in self.servers)
        return self._toolboxes.of(tuple(listing for listing in listings if listing is not None))

    def unsettled(self, principal: Principal) -> tuple[str, ...]:
        """Servers of which it is not yet known what they offer this principal. A `required` one that failed is among
        them: an agent must not be without its tools because it asked twice."""
        return tuple(
            name
            for name, server in self.servers.items()
            if self._whose(principal, name) not in self._listings
            and (server.required or (principal, name) not in self._errors)
        )

    def has_listed(self, principal: Principal, server: str) -> bool:
        """Whether what this server offers the principal is known, and the server could be reached when last tried."""
        return self._whose(principal, server) in self._listings and (principal, server) not in self._errors

    def error_of(self, principal: Principal, server: str) -> BasculeError | None:
        return self._errors.get((principal, server))

    def capabilities_of(self, principal: Principal, server: str) -> Mapping[str, Any]:
        """What the server said it can do when it was last linked to. Nothing, before that."""
        return self._capabilities.get(self._whose(principal, server), {})

    def key(self, principal: Principal, server: str, lane: Lane) -> LinkKey:
        """The link that a principal uses: its own, or the one that everyone does."""
        return LinkKey(server, lane, self._whose(principal, server)[0])

    async def lease(self, key: LinkKey) -> Link:
        """A ready link, to be given back. If it is a new one, what it lists is in the catalog by then."""
        link = await self.links.lease(key)
        try:
            await self.take(link)
        except BaseException:
            self.links.give_back(link)
            raise
        self._errors.pop((key.principal, key.server), None)
        return link

    async def take(self, link: Link) -> None:
        """Put what a new link has listed into the catalog, unless that was done."""
        if isinstance(link.listed, Pages):
            link.listed = self._read(link, link.listed)
        if link.listed is not None:
            # Several may wait for one new link, and all of them need its tools. One who gives up stops no other.
            await asyncio.shield(link.listed)

    async def replace(self, link: Link, pages: Pages) -> bool:
        """Put a later listing of a link into the catalog. Whether it is another one."""
        return await asyncio.shield(self._read(link, pages))

    async def refresh(self, principal: Principal, lane: Lane, names: Iterable[str] | None = None) -> None:
        """Look again at what these servers list, where that may no longer be true. A failure changes nothing."""
        keys = [self.key(principal, name, lane) for name in (self.servers if names is None else names)]
        found = [link for link in map(self.links.find, keys) if link is not None]
        looking = [look for link in found if (look := self._look(link)) is not None]
        if looking:
            await asyncio.gather(*looking)

    def _look(self, link: Link) -> Coroutine[Any, Any, object] | None:
        key = link.key
        if link.usable:
            if link.listed is None:
                return self.refreshing.look(link) if self.refreshing.has_run_out(link) else None
            return self.settle(key.principal, key.server, key.lane)
        # It ended by itself: what comes in its place may have other tools. One try, lest every look waits for it.
        lost = link.condition.state is LinkState.FAILED and (key.principal, key.server) not in self._errors
        return self.settle(key.principal, key.server, key.lane) if lost else None

    def remover_of(self, principal: Principal, name: str) -> str | None:
        """The server that has removed the tool of this name, if the principal may know that there was one."""
        for server, exposure in self.exposures.items():
            removed = self._removed.get(self._whose(principal, server))
            tool = removed.tool(name) if removed is not None else None
            if tool is not None and exposure.permits(tool):
                return server
        return None

    async def settle(self, principal: Principal, server: str, lane: Lane) -> ServerReport:
        """Find out what a server offers, linking to it if need be. A failure is part of the answer."""
        now = asyncio.get_running_loop().time
        started = now()
        try:
            self.links.give_back(await self.lease(self.key(principal, server, lane)))
        except BasculeError as error:
            self._errors[principal, server] = error
        else:
            self._errors.pop((principal, server), None)
        self._seconds[principal, server] = now() - started
        return self.report(principal, server, lane)

    async def remember(self, lane: Lane, server: str, kind: OfferKind, digests: Mapping[str, str]) -> None:
        """Keep what a server offers beside tools, and tell what has changed."""
        change = await self.memory.note_offers(lane, server, kind, digests)
        if change is not None:
            self._record(change)

    async def close(self) -> None:
        """Close every link, and let what is being read from them end."""
        await self.links.close()
        await self.refreshing.close()
        if self._reading:
            await asyncio.wait(self._reading)
        await self._logins.close()

    def login_of(self, principal: Principal, server: str) -> Credentials:
        """The login of a principal's user. Raises `UsageError` where nobody logs in."""
        config = self.servers.get(server)
        if config is None:
            raise UsageError(f"no server is called {server!r}", fix="`bascule list` shows those configured")
        if config.unavailable_reason is not None:
            raise config.unavailable_reason
        login = self._logins.of(config, principal.user_id, self.masks[server])
        if login is None:
            raise no_login(config)
        return login

    async def anew(self, principal: Principal, server: str, lane: Lane) -> ServerReport:
        """Link to a server once more, whatever came of it before: who we are to it has changed."""
        await self.links.close([self.key(principal, server, lane)])
        return await self.settle(principal, server, lane)

    async def prove_required(self) -> None:
        """Try every `required` server once. Raises for the first that cannot be used."""
        names = [name for name, server in self.servers.items() if server.required]
        if not names:
            return
        try:
            reports = await asyncio.gather(*(self.settle(STARTING, name, Lane.OPEN) for name in names))
        finally:
            await self.links.close([self.key(STARTING, name, Lane.OPEN) for name in names])
        # Who logs in is not known before there is an agent session; that the server is there has been proved.
        raise_for_required(report for report in reports if not self._awaits_login(report))

    def _awaits_login(self, report: ServerReport) -> bool:
        return isinstance(report.error, LoginNeeded) and target_of(self.servers[report.name]) is not None

    def report(self, principal: Principal, server: str, lane: Lane) -> ServerReport:
        config = self.servers[server]
        link = self.links.find(self.key(principal, server, lane))
        listing = self._listings.get(self._whose(principal, server))
        error = self._errors.get((principal, server))
        condition = failed(error) if error is not None else link.condition if link is not None else None
        return ServerReport(
            name=server,
            transport=(link is not None and link.older_way and link.kind) or config.transport.kind,
            state=condition.state if condition is not None else LinkState.CONFIGURED,
            reason=condition.reason if condition is not None else "",
            agreement=link.agreement if link is not None else None,
            tools=_exposed(listing, refuse=self.refuse) if listing is not None and error is None else 0,
            seconds=self._seconds.get((principal, server), 0.0),
            error=error,
            notes=(*config.notes, *self._trouble(principal, server)),
            repairs=listing.notes if listing is not None else (),
            findings=listing.findings if listing is not None else (),
            required=config.required,
            change=self.memory.changes.get(server),
        )

    def _whose(self, principal: Principal, server: str) -> tuple[Principal, str]:
        """Under whom a server's listing is kept. Who shares a link shares what it lists."""
        return (SHARED if self.servers[server].lifetime == "shared" else principal), server

    def moves(self, principal: Principal, server: str) -> int:
        """How often the server has said that what it offers beside tools has changed."""
        return self.refreshing.moves(*self._whose(principal, server))

    def _trouble(self, principal: Principal, server: str) -> tuple[str, ...]:
        trouble = self.refreshing.trouble(*self._whose(principal, server))
        return (f"its tools could not be listed anew, and may have changed: {trouble}",) if trouble else ()

    def _read(self, link: Link, pages: Pages) -> asyncio.Task[bool]:
        task = asyncio.create_task(self._catalogue(link, pages))
        self._reading.add(task)
        task.add_done_callback(self._was_read)
        return task

    def _was_read(self, task: asyncio.Task[bool]) -> None:
        self._reading.discard(task)
        if not task.cancelled():
            # Told to whoever wants the link. Nobody may.
            task.exception()

    async def _catalogue(self, link: Link, pages: Pages) -> bool:
        """Take over what a link has listed. Whether it is something else than before."""
        principal, name = link.key.principal, link.key.server
        previous = self._listings.get((principal, name)) or self._latest.get(name)
        instructions = ""
        if link.agreement is not None:
            instructions = link.agreement.instructions
            self._capabilities[principal, name] = link.agreement.capabilities
        prefix, exposed = self.servers[name].tool_prefix, self.exposures[name].permits
        read = partial(catalog_listing, name, prefix, pages, previous, exposed, instructions)
        # Thousands of tools take a second to read, in which nobody else would be served.
        large = pages.size + len(instructions) > LARGE_LISTING
        listing, _ = await asyncio.to_thread(read) if large else read()
        shown = self._listings.get((principal, name))
        if listing is not shown:
            self._follow(principal, shown, listing)
            self._listings[principal, name] = self._latest[name] = listing
            self.version += 1
        self.refreshing.catalogued(principal, name, pages.ttl)
        change = await self.memory.note(link.key.lane, listing)
        if change is not None:
            self._record(change)
        link.listed = None
        return listing is not shown

    def _follow(self, principal: Principal, before: ServerListing | None, now: ServerListing) -> None:
        """Remember what a principal was shown and is no more."""
        if before is not None:
            removed = self._removed.setdefault((principal, now.server), Removed())
            removed.follow(before.entries, now.entries, refuse=self.refuse)


def raise_for_required(reports: Iterable[ServerReport]) -> None:
    for report in reports:
        if report.required and report.error is not None:
            error = report.error
            raise ConnectFailed(
                f"the required server {report.name!r} cannot be used: {error.message}",
                where=report.name,
                evidence=error.evidence,
                cause=error.cause,
                fix=error.fix,
            ) from error


def _exposed(listing: ServerListing, *, refuse: bool) -> int:
    specs = (entry.spec for entry in listing.entries.values())
    return sum(spec.status is ToolStatus.EXPOSED and not (refuse and spec.findings) for spec in specs)
