"""Connection pool: all links of a runtime, lent out, opened at first need and after a failure, bounded in number, and
closed together."""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from math import inf
from weakref import WeakKeyDictionary

from bascule.core.errors import BasculeError, ConnectFailed, ConnectionLost, PeerError, PoolTimeout
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.upstream.backoff import Comeback
from bascule.upstream.key import LinkKey
from bascule.upstream.ledger import NOTHING, Close, Grant, Ledger, Open, Orders, Place, Ticket
from bascule.upstream.link import Link, LinkPlan
from bascule.upstream.settings import Learned
from bascule.upstream.start_limiter import StartGate
from bascule.upstream.state import LinkState

DEAD = frozenset({LinkState.FAILED, LinkState.NEEDS_AUTH, LinkState.CLOSED})


class Pool:
    """Links by key. What `borrow` and `lease` give has to be given back, once.

    The ledger decides, in one step; what it orders is done here. A link that nobody uses may be closed to make room
    for another.
    """

    def __init__(
        self,
        plan_for: Callable[[LinkKey], LinkPlan],
        changed: Callable[[Link], None],
        *,
        most: int,
        starting: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._plan_for = plan_for
        self._tell = changed
        self._most = most
        self._gate = StartGate(starting)
        self._chance = chance
        self._ledger = Ledger(most)
        self._latest: dict[LinkKey, Link] = {}
        self._held: dict[Place, Link] = {}
        self._refused: WeakKeyDictionary[Place, BasculeError] = WeakKeyDictionary()
        """Why nothing could be opened in a place that somebody had been given."""
        self._places: dict[Link, Place] = {}
        self._granted: dict[Ticket, asyncio.Future[Link | BasculeError]] = {}
        self._learned: dict[str, Learned] = {}
        self._comebacks: dict[LinkKey, Comeback] = {}
        self._timers: dict[LinkKey, asyncio.TimerHandle] = {}
        self._kept: set[LinkKey] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    # Lending

    def borrow(self, key: LinkKey) -> Link | None:
        """The link of this key if it can be used this instant. What most calls need, without waiting."""
        link = self._latest.get(key)
        if link is None or link.listed is not None or not link.usable:
            return None
        place = self._places[link]
        if place.fresh or not place.lendable:
            return None
        place.users += 1
        return link

    async def lease(self, key: LinkKey, *, ahead: bool = False) -> Link:
        """A ready link, opened if need be. Raises why there is none. Who wants one `ahead` of need lets those go first
        who need one now."""
        await self._hold(key)
        remembered = self._learned.get(key.server)
        try:
            return await self._lease(key, ahead)
        except PeerError:
            # What is remembered may be what is wrong: the server can have been replaced by a newer one.
            if remembered in {None, Learned()} or self._learned.get(key.server) is not None:
                raise
            return await self._lease(key, ahead)

    async def _lease(self, key: LinkKey, ahead: bool) -> Link:  # noqa: FBT001
        plan = self._plan_for(key)
        self._bury(key)
        ticket, orders = self._ledger.ask(key, fresh=plan.terms.lifetime == "call", ahead=ahead)
        try:
            self._obey(orders)
            link = await self._turn(ticket, plan) if ticket.place is None else self._occupant(ticket.place)
            if isinstance(link, BasculeError):
                raise link.with_traceback(None)
            await self._opened(link)
        except BaseException:
            self._obey(self._ledger.withdraw(ticket))
            raise
        return link

    def give_back(self, link: Link, *, used: bool = True) -> None:
        """Whoever borrowed the link is done with it. If it was not `used`, it is the first to make room."""
        place = self._places.get(link)
        if place is not None:
            orders = self._ledger.give_back(place, used=used)
            if orders:
                self._obey(orders)

    def keep(self, key: LinkKey) -> None:
        """Try again if this link cannot be opened, as after a death. Without that, it is up to whoever wants it."""
        self._kept.add(key)

    # Looking

    def links(self) -> Iterable[Link]:
        return tuple(self._latest.values())

    def find(self, key: LinkKey) -> Link | None:
        """The latest link of this key, whatever its state."""
        return self._latest.get(key)

    # Ending

    async def close(self, keys: Iterable[LinkKey] | None = None) -> None:
        """Close these links, or all of them and the pool with them."""
        if keys is None:
            self._closing.set()
            for waiting in self._granted.values():
                if not waiting.done():
                    waiting.set_exception(_closed())
        wanted = None if keys is None else set(keys)
        for key in [key for key in self._comebacks if wanted is None or key in wanted]:
            self._stop_timer(key)
            del self._comebacks[key]
        closing = [link for link in self._places if wanted is None or link.key in wanted]
        await asyncio.gather(*(link.close() for link in closing))
        if keys is None and self._ending:
            await asyncio.wait(self._ending)

    def let_go(self, keys: Collection[LinkKey]) -> bool:
        """Keep nothing of links that have ended. False, and nothing has changed, where one of them has not, or comes
        back by itself."""
        if any(link.key in keys for link in self._places) or any(key in self._timers for key in keys):
            return False
        for key in keys:
            self._latest.pop(key, None)
            self._comebacks.pop(key, None)
            self._kept.discard(key)
        return True

    def retire(self, servers: Collection[str], reason: str) -> list[Link]:
        """End every link to these servers at once, and forget what they have shown: the next one may lead to another
        server. Those that end are given back; nothing is waited for."""
        retired = [link for link in self._places if link.key.server in servers]
        for link in retired:
            link.retire(reason)
        for key in [key for key in self._latest if key.server in servers]:
            del self._latest[key]
            self._stop_timer(key)
            self._comebacks.pop(key, None)
        for server in servers:
            self._learned.pop(server, None)
        for link in retired:
            # Last, when nothing is known any more: whoever waits for room may get it in this step.
            self._obey(self._ledger.broken(self._places[link]))
        return retired

    def sever(self, principal: Principal, lanes: Collection[Lane], reason: str) -> list[Link]:
        """Ends every link of a principal on these lanes in this step, also links being opened or closed: nothing more
        is written on any. None of them reconnects; the plan refuses to open them again."""
        severed = [link for link in self._places if link.key.principal == principal and link.key.lane in lanes]
        for link in severed:
            link.sever(reason)
        keys = {*self._latest, *self._comebacks}
        for key in [key for key in keys if key.principal == principal and key.lane in lanes]:
            self._latest.pop(key, None)
            self._stop_timer(key)
            self._comebacks.pop(key, None)
        for link in severed:
            self._obey(self._ledger.broken(self._places[link]))
        return severed

    def revoke(self, principal: Principal, lanes: Collection[Lane], reason: str) -> list[Link]:
        """Ends, on the links of a principal on these lanes, the requests whose permit is no longer valid. Returns links
        that cannot go on without them: these are dead, and reconnect like any link that died."""
        links = [link for link in self._places if link.key.principal == principal and link.key.lane in lanes]
        return [link for link in links if not link.revoke(reason)]

    # Waiting for a place

    async def _hold(self, key: LinkKey) -> None:
        """After a failure, wait a little with the next attempt; where it would not be little, raise the failure."""
        comeback, last = self._comebacks.get(key), self._latest.get(key)
        left = comeback.hold(asyncio.get_running_loop().time()) if comeback is not None else 0.0
        if left and last is not None and not self._closing.is_set():
            if left > last.terms.reconnect and last.condition.error is not None:
                raise _held_off(last.condition.error, left)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._closing.wait()
        if self._closing.is_set():
            raise _closed()

    def _bury(self, key: LinkKey) -> None:
        """See that a dead link is not shared: its transport knows of a death one step before its owner does."""
        place = self._ledger.shared(key)
        link = self._held.get(place) if place is not None else None
        if place is not None and link is not None and link.settled and not link.usable:
            self._obey(self._ledger.broken(place))

    async def _turn(self, ticket: Ticket, plan: LinkPlan) -> Link | BasculeError:
        """Wait for a place, at most as long as opening a link again may take."""
        self._granted[ticket] = granted = asyncio.get_running_loop().create_future()
        limit = plan.terms.reconnect
        try:
            async with asyncio.timeout(limit):
                return await granted
        except TimeoutError:
            raise PoolTimeout(
                f"no link to {ticket.key.server} was free within {limit:g} s: all {self._most} are in use",
                where=ticket.key.server,
                cause="more principals and servers are busy at once than links may be open",
                fix="raise `links.max`, or call again later",
            ) from None
        finally:
            del self._granted[ticket]

    def _occupant(self, place: Place) -> Link | BasculeError:
        return self._held.get(place) or self._refused[place]

    async def _opened(self, link: Link) -> None:
        server = link.key.server
        try:
            await link.opened()
        except PeerError:
            self._learned.pop(server, None)
            raise
        if not link.retired:
            self._learned[server] = link.learned
        if not link.usable:
            # It ended between its opening and our turn.
            reason = link.retired or "the link was lost as soon as it was open"
            raise ConnectionLost(reason, sent=False, evidence=link.evidence())

    # Doing what the ledger says

    def _obey(self, orders: Orders) -> None:
        # Not by calling itself: a server that is removed under a crowd of waiters refuses them one after the other.
        left = deque(orders)
        while left:
            match left.popleft():
                case Open(place):
                    left.extend(self._open(place))
                case Close(place):
                    self._end(place)
                case Grant(ticket):
                    waiting = self._granted.get(ticket)
                    if waiting is not None and not waiting.done() and ticket.place is not None:
                        waiting.set_result(self._occupant(ticket.place))

    def _open(self, place: Place) -> Orders:
        """Open a link there. What is to be done next, if that cannot be."""
        key = place.key
        self._stop_timer(key)
        try:
            if self._closing.is_set():
                raise _closed()
            plan = self._plan_for(key)
        except BasculeError as error:
            # The config has changed while somebody waited.
            self._refused[place] = error
            return self._ledger.gone(place)
        learned = self._learned.get(key.server, Learned())
        era = learned.era if plan.terms.era == "auto" else plan.terms.era
        link = Link(plan.by_older_way() if learned.older_way else plan, self._gate, era, self._changed)
        link.older_way = learned.older_way
        link.first_start = key not in self._latest
        self._held[place] = self._latest[key] = link
        self._places[link] = place
        link.start(self._over)
        return NOTHING

    def _end(self, place: Place) -> None:
        link = self._held[place]
        reason = "its call has ended" if place.fresh else "closed to make room for another"
        task = asyncio.get_running_loop().create_task(link.close(reason))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _changed(self, link: Link) -> None:
        place = self._places.get(link)
        if place is not None and link.condition.state in DEAD:
            if not self._closing.is_set() and not place.fresh:
                self._consider(link)
            self._obey(self._ledger.broken(place))
        self._tell(link)

    def _over(self, link: Link) -> None:
        """Nothing is left of a link."""
        place = self._places.pop(link)
        self._held.pop(place)
        self._obey(self._ledger.gone(place))

    # Coming back

    def _consider(self, link: Link) -> None:
        """Whether a link that ended is to be opened again, and when."""
        key, now = link.key, asyncio.get_running_loop().time()
        if link.condition.state is not LinkState.FAILED:
            return  # closed by us, or a person has to log in first
        comeback = self._comebacks.get(key)
        if link.ready_at is None and comeback is None and key not in self._kept:
            return  # it never was ready, and whoever wanted it was told
        if comeback is None:
            terms = link.terms
            comeback = self._comebacks[key] = Comeback(terms.attempts, terms.backoff, self._chance)
        if link.ready_at is None:
            comeback.failed(now)
        else:
            comeback.died(now, now - link.ready_at)
        self._stop_timer(key)
        if comeback.due < inf:
            self._timers[key] = asyncio.get_running_loop().call_at(comeback.due, self._come_back, key)

    def _come_back(self, key: LinkKey) -> None:
        self._timers.pop(key, None)
        if self._closing.is_set() or self._ledger.full or self._ledger.shared(key) is not None:
            # Nobody has to make room for what nobody asked for.
            return
        ticket, orders = self._ledger.ask(key)
        self._obey(orders)
        self._obey(self._ledger.withdraw(ticket))

    def _stop_timer(self, key: LinkKey) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


def _closed() -> ConnectionLost:
    return ConnectionLost("the runtime is closed", sent=False)


def _held_off(last: BasculeError, left: float) -> ConnectFailed:
    """What those are told who ask between two attempts."""
    return ConnectFailed(
        f"{last.message}; it is tried again in {left:.1f} s",
        where=last.where,
        evidence=last.evidence,
        cause=last.cause,
        fix=last.fix,
    )
