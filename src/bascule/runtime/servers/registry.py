"""Server registry: the links, listings, lanes and status of all configured servers. It takes over an edited config in
one step, and ends what the edit has removed."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bascule.catalog.pages import Pages
from bascule.config.diff import ConfigDiff
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.core.errors import BasculeError, LoginNeeded, UsageError
from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import DataSensitivity, Lane, lane_for
from bascule.records.recorder import Recorder
from bascule.runtime.servers.close_open_links import Tightening
from bascule.runtime.servers.lane_links import lane_of, taken_over, ways_of
from bascule.runtime.servers.link_plan import mask_of, plan_of
from bascule.runtime.servers.listing_history import ListingMemory, OfferKind
from bascule.runtime.servers.listings import Listings
from bascule.runtime.servers.notifications import News
from bascule.runtime.servers.per_principal import ORIGINAL, STARTING, drop_principal, drop_server
from bascule.runtime.servers.refresh import Refreshing
from bascule.runtime.servers.status import REMOVED, ServerReport, no_longer_there, raise_for_required, session_ended
from bascule.runtime.servers.twins import Twinning, is_twin
from bascule.sandbox.factory import UNBOXED, Boxing
from bascule.sensitivity.lease import Lease
from bascule.sensitivity.ratchet import Ratchets
from bascule.transports.auth.oauth_credentials import Credentials, no_login, target_of
from bascule.transports.auth.providers import Introducing
from bascule.transports.http.shared_connections import Hosts
from bascule.upstream.connection_plan import Plans, ServerPlan
from bascule.upstream.key import SHARED, LinkKey
from bascule.upstream.link import Announcer, Link
from bascule.upstream.listing import admit_by_listing
from bascule.upstream.pool import Pool
from bascule.upstream.server_requests import Reception
from bascule.upstream.state import LinkState, failed


@dataclass(frozen=True, slots=True)
class Ending:
    """Links, logins and listings that an edit of the config ends or renews, until that is done."""

    links: list[Link]
    logins: list[Credentials]
    listings: list["asyncio.Task[bool]"]
    """What is being listed anew."""


EDITED = "the server's configuration was changed"
"""Why a link was ended that was in order."""


class Roster:
    """All servers of one runtime."""

    def __init__(  # noqa: PLR0913, PLR0917 -- each is of another room
        self,
        config: RuntimeConfig,
        recorder: Recorder,
        memory: ListingMemory,
        clock: Callable[[], float],
        reception: Reception,
        introducing: Introducing,
        ratchets: Ratchets,
        lease: Lease,
        boxing: Boxing = UNBOXED,
    ) -> None:
        self.servers: Mapping[str, ServerConfig] = dict(config.servers)  # no proxy: every call looks into it, and often
        self._record = recorder.record
        self.egress = config.egress
        """Hosts that may receive confidential data, as the config has them now."""
        self.masks = {name: mask_of(server) for name, server in config.servers.items()}
        self._introducing = introducing
        self.news = News(self, recorder.remarked)
        self.refreshing = Refreshing(self, self._record, clock, self.news.told)
        self.ratchets = ratchets
        self._lease = lease
        self.boxing = boxing
        self.boxed = boxing.has_twin
        self.tightening = Tightening(self)
        self._plan = partial(
            plan_of,
            max_message=config.message_max,
            reception=reception,
            boxing=boxing,
            hosts=Hosts(),
            on_change=self.refreshing.on_change,
            said=recorder.said,
            hears=self.news,
        )
        self._plans = Plans(self._planned(), ratchets)
        announcer = Announcer(self._record, clock, self.news.link_changed)
        self.links = Pool(self._plans.plan_for, announcer, most=config.links_max, starting=config.links_starting)
        self.listings = Listings(config, memory, self._record)
        self.listings.on_change, self.prints = self.news.changed, self.listings.prints
        self._twinning = Twinning(self.listings, self._original)
        self._reading: set[asyncio.Task[bool]] = set()
        self.errors: dict[tuple[Principal, str], BasculeError] = {}
        self._seconds: dict[tuple[Principal, str], float] = {}

    def unsettled(self, principal: Principal) -> tuple[str, ...]:
        """Servers of which it is not yet known what they offer this principal. A `required` one that failed is among
        them: an agent must not be without its tools because it asked twice."""
        return tuple(
            name
            for name, server in self.servers.items()
            if self.listings.of(principal, name) is None and (server.required or (principal, name) not in self.errors)
        )

    def has_listed(self, principal: Principal, server: str) -> bool:
        """Whether what this server offers the principal is known, and the server could be reached when last tried."""
        return self.listings.of(principal, server) is not None and (principal, server) not in self.errors

    def error_of(self, principal: Principal, server: str) -> BasculeError | None:
        return self.errors.get((principal, server))

    def key(self, principal: Principal, server: str, lane: Lane) -> LinkKey:
        """The link that a principal uses: its own, or the one that everyone does."""
        return LinkKey(server, lane, self.listings.whose(principal, server)[0])

    def lane(self, principal: Principal, server: str) -> Lane:
        """The lane on which a server is asked on behalf of a principal. What is nobody's is not private."""
        config = self.servers.get(server)
        if isinstance(principal, Nobody):
            return Lane.OPEN
        level = self.ratchets.of(principal).level
        return lane_of(config, level) if config is not None else lane_for(level)

    def close_wider(self, principal: Principal) -> tuple[str, ...]:
        """End, in this step, every link of a principal that is wider than its level allows; on links that it shares
        with others, its requests. All of them, if the agent session has ended."""
        ratchet = self.ratchets.of(principal)
        # Another lane may be in order.
        drop_principal((self.errors, self._seconds), principal, self.servers)
        closed = {lane for lane in Lane if not ratchet.allows(lane)}
        reason = f"its lane was closed: {ratchet.because or 'the agent session has become private'}"
        links = self.links.sever(principal, closed, reason)
        self.tightening.began(principal, links)
        links += self.links.revoke(SHARED, closed, reason)
        self.news.moved(principal, ended=ratchet.ended)
        return tuple(sorted({f"{link.key.server} ({link.key.lane})" for link in links}))

    def taken_over(self, level: DataSensitivity) -> Mapping[str, str]:
        return taken_over(self.servers, level, self.boxed)

    async def cut(self) -> None:
        """Wait until nothing is left of the boxes whose links were ended by `close_wider`."""
        await self.tightening.cut()

    async def tighten(self, principal: Principal) -> None:
        """Have the tighter boxes of a principal in the place of those that were ended, so that it can go on."""
        await self.tightening.make_again(principal)

    async def lease(self, key: LinkKey, *, ahead: bool = False) -> Link:
        """A ready link, to be given back. If it is a new one, what it lists is in the catalog by then."""
        link = await self.links.lease(key, ahead=ahead)
        try:
            await self.take(link)
        except BaseException:
            self.links.give_back(link)
            raise
        self.errors.pop((key.principal, key.server), None)
        return link

    async def take(self, link: Link) -> None:
        """Put what a new link has listed into the catalog, unless that was done."""
        if isinstance(link.listed, Pages):
            link.listed = self._in_background(self._catalogue(link, link.listed))
        if link.listed is not None:
            # Several may wait for one new link, and all of them need its tools. One who gives up stops no other.
            await asyncio.shield(link.listed)

    async def replace(self, link: Link, pages: Pages) -> bool:
        """Put a later listing of a link into the catalog. Whether it is another one."""
        return await asyncio.shield(self._in_background(self._catalogue(link, pages)))

    async def refresh(self, principal: Principal, names: Iterable[str] | None = None) -> None:
        """Look again at what these servers list, where that may no longer be true. A failure changes nothing."""
        await self.listings.follow_lock()
        wanted = self.servers if names is None else names
        keys = [self.key(principal, name, self.lane(principal, name)) for name in wanted]
        found = [link for link in map(self.links.find, keys) if link is not None]
        looking = [look for link in found if (look := self._look(link)) is not None]
        if looking:
            await asyncio.gather(*looking)

    def _look(self, link: Link) -> Coroutine[Any, Any, object] | None:
        key = link.key
        if link.usable:
            if link.listed is None:
                return self.refreshing.look(link) if self.refreshing.has_run_out(link) else None
            return self.settle(key.principal, key.server)
        # It ended by itself: what comes in its place may have other tools. One try, lest every look waits for it.
        lost = link.condition.state is LinkState.FAILED and (key.principal, key.server) not in self.errors
        return self.settle(key.principal, key.server) if lost else None

    async def settle(self, principal: Principal, server: str, *, ahead: bool = False) -> ServerReport:
        """Find out what a server offers, linking to it if need be. A failure is part of the answer."""
        lane = self.lane(principal, server)
        if server not in self.servers:
            return no_longer_there(server)
        now = asyncio.get_running_loop().time
        started, edition = now(), self.listings.editions[server]
        try:
            self.links.give_back(await self.lease(self.key(principal, server, lane), ahead=ahead), used=False)
        except BasculeError as error:
            if self.listings.editions[server] != edition:
                # What failed is not what is configured now.
                return await self.settle(principal, server, ahead=ahead)
            if self.lane(principal, server) is not lane:
                # Private data has come in meanwhile.
                return await self.settle(principal, server, ahead=ahead)
            ended = self.ratchets.of(principal).ended
            self.errors[principal, server] = session_ended() if ended else error
        else:
            self.errors.pop((principal, server), None)
            for key in self.tightening.standby(principal, server):
                # Whatever goes wrong with it is told when it is needed.
                self._in_background(self.ahead(key))
        self._seconds[principal, server] = now() - started
        return self.report(principal, server)

    async def remember(self, lane: Lane, server: str, kind: OfferKind, digests: Mapping[str, str]) -> None:
        """Keep what a server offers beside tools, and tell what has changed."""
        change = await self.listings.memory.note_offers(lane, server, kind, digests)
        if change is not None:
            self._record(change)

    def adopt(self, servers: Mapping[str, ServerConfig], diff: ConfigDiff) -> Ending:
        """Take over an edited set of servers, all in this one step: nobody ever sees half of it, and what did not
        change is not touched. What is over is given back, to be waited for."""
        masks = {name: mask_of(servers[name]) for name in (*diff.added, *diff.restarted)}
        for name in diff.restarted:
            masks[name].succeed(self.masks[name])
        # Those of removed servers stay until all is over: an error may still repeat what they were given in secret.
        self.masks |= masks
        self.servers = dict(servers)
        self._plans.servers = self._planned()
        self.listings.adopt(servers)
        for name in (*diff.added, *diff.removed, *diff.restarted, *diff.relisted):
            self._forget(name)
        over = (*diff.removed, *diff.restarted)
        links = [*self.links.retire(diff.removed, REMOVED), *self.links.retire(diff.restarted, EDITED)]
        return Ending(links, self._introducing.logins.drop(over), self._relist(diff.relisted))

    def _planned(self) -> dict[tuple[str, Lane], ServerPlan | BasculeError]:
        """How each server is linked to on each lane it can be served on. Where there is a way out, only under leave."""
        return {
            (name, lane): self._plan(
                way,
                self.masks[name],
                introducing=self._introducing if lane is Lane.OPEN else self._introducing.without_logins,
                lane=lane,
                leave=None if lane is Lane.SEALED else self._lease,
            )
            for name, server in self.servers.items()
            for lane, way in ways_of(server, boxed=self.boxed(server)).items()
        }

    async def ahead(self, key: LinkKey) -> bool:
        """Have a link before it is needed."""
        self.links.give_back(await self.lease(key, ahead=True), used=False)
        return False

    async def _original(self, server: str) -> None:
        """List what a server itself offers, on nobody's behalf: a twin is compared with that."""
        key = self.key(ORIGINAL, server, Lane.OPEN)
        try:
            self.links.give_back(await self.lease(key), used=False)
        finally:
            if key.principal is ORIGINAL:
                await self.links.close([key])

    def _forget(self, server: str) -> None:
        """All that was known of a server says nothing any more."""
        self.listings.forget(server)
        self.refreshing.forget(server)
        self._twinning.warnings.pop(server, None)
        drop_server((self.errors, self._seconds), server)

    def let_go(self, principal: Principal) -> None:
        """Keep nothing of what is known for one principal."""
        self.listings.let_go(principal)
        self.refreshing.let_go(principal, self.servers)
        drop_principal((self.errors, self._seconds), principal, self.servers)

    def _relist(self, servers: Iterable[str]) -> list[asyncio.Task[bool]]:
        """Have the links of these servers list their tools again, which are seen in another way from now on."""
        links = [link for link in self.links.links() if link.key.server in servers and link.usable]
        # One that has its pages still is catalogued when it is leased, by the new rules.
        listed = [link for link in links if not isinstance(link.listed, Pages)]
        for link in listed:
            link.listed = self._in_background(self._list_again(link))
        return [link.listed for link in listed]

    async def _list_again(self, link: Link) -> bool:
        try:
            await admit_by_listing(link, collect=Pages, timeout=self.servers[link.key.server].timeouts.list)
        except BasculeError as error:
            # Without its tools the link is of no use; the next one lists them when it opens.
            link.retire(f"its tools could not be listed again: {error.message}")
            raise
        pages, link.listed = link.listed, asyncio.current_task()
        return await self._catalogue(link, pages)

    def _in_background(self, work: Coroutine[Any, Any, bool]) -> asyncio.Task[bool]:
        task = asyncio.create_task(work)
        self._reading.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[bool]) -> None:
        self._reading.discard(task)
        if not task.cancelled():
            # Told to whoever wants the link. Nobody may.
            task.exception()

    async def close(self) -> None:
        """Close every link, and let what is being read from them end."""
        await self.listings.locking.close()
        await self.news.close()
        await self.links.close()
        await self.refreshing.close()
        if self._reading:
            await asyncio.wait(self._reading)
        await self._introducing.logins.close()

    def login_of(self, principal: Principal, server: str) -> Credentials:
        """The login of a principal's user. Raises `UsageError` where nobody logs in."""
        config = self.servers.get(server)
        if config is None:
            raise UsageError(f"no server is called {server!r}", fix="`bascule list` shows those configured")
        if config.unavailable_reason is not None:
            raise config.unavailable_reason
        login = self._introducing.logins.of(config, principal.user_id, self.masks[server])
        if login is None:
            raise no_login(config)
        return login

    async def anew(self, principal: Principal, server: str) -> ServerReport:
        """Link to a server once more, whatever came of it before: who we are to it has changed."""
        await self.links.close([self.key(principal, server, self.lane(principal, server))])
        return await self.settle(principal, server)

    async def prove_required(self) -> None:
        """Try every `required` server once. Raises for the first that cannot be used."""
        names = [name for name, server in self.servers.items() if server.required]
        if not names:
            return
        try:
            reports = await asyncio.gather(*(self.settle(STARTING, name) for name in names))
        finally:
            await self.links.close([self.key(STARTING, name, Lane.OPEN) for name in names])
        # Who logs in is not known before there is an agent session; that the server is there has been proved.
        raise_for_required(report for report in reports if not self._awaits_login(report))

    def _awaits_login(self, report: ServerReport) -> bool:
        server = self.servers[report.name]
        return isinstance(report.error, LoginNeeded) and bool(server.headers_command or target_of(server))

    def report(self, principal: Principal, server: str) -> ServerReport:
        config = self.servers.get(server)
        if config is None:
            return no_longer_there(server)
        link = self.links.find(self.key(principal, server, self.lane(principal, server)))
        listing = self.listings.of(principal, server)
        error = self.errors.get((principal, server))
        condition = failed(error) if error is not None else link.condition if link is not None else None
        return ServerReport(
            name=server,
            transport=(link is not None and link.older_way and link.kind) or config.transport.kind,
            state=condition.state if condition is not None else LinkState.CONFIGURED,
            reason=condition.reason if condition is not None else "",
            agreement=link.agreement if link is not None else None,
            tools=self.listings.exposed(principal, server) if error is None else 0,
            seconds=self._seconds.get((principal, server), 0.0),
            error=error,
            notes=(*config.notes, *self._trouble(principal, server)),
            repairs=listing.notes if listing is not None else (),
            findings=listing.findings if listing is not None else (),
            required=config.required,
            change=self.listings.memory.changes.get(server),
        )

    def moves(self, principal: Principal, server: str) -> int:
        """How often the server has said that what it offers beside tools has changed."""
        return self.refreshing.moves(*self.listings.whose(principal, server))

    def _trouble(self, principal: Principal, server: str) -> tuple[str, ...]:
        trouble = self.refreshing.trouble(*self.listings.whose(principal, server))
        told = [f"its tools could not be listed anew, and may have changed: {trouble}"] if trouble else []
        odd = self._twinning.warnings.get(server)
        return (*told, odd) if odd else (*told,)

    async def _catalogue(self, link: Link, pages: Pages) -> bool:
        """Take over what a link has listed. Whether it is something else than before."""
        server = self.servers.get(link.key.server)
        if is_twin(link, server, boxed=server is not None and self.boxed(server)):
            changed = await self._twinning.check(link, pages)
            self.refreshing.catalogued(link.key.principal, link.key.server, pages.ttl)
        else:
            changed = await self.listings.take(link, pages, self.refreshing)
        if link.listed is asyncio.current_task():
            # Else an edit has it listed once more meanwhile, and who wants the link waits for that.
            link.listed = None
        return changed
