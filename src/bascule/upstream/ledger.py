"""Ledger of the connection pool: open links, their users, and waiting requests. Pure: it decides, the pool acts."""

from collections import deque
from collections.abc import Iterable

import msgspec

from bascule.upstream.key import LinkKey


class Place:
    """Room for one link, counted from the decision to open it until it is closed."""

    __slots__ = ("__weakref__", "fresh", "key", "lendable", "number", "used", "users")

    def __init__(self, key: LinkKey, number: int, *, fresh: bool) -> None:
        self.key = key
        self.number = number
        """The higher, the later it was opened."""
        self.fresh = fresh
        """Whether it serves one user only, and is closed after that."""
        self.lendable = True
        """Until it breaks, or is to be closed."""
        self.users = 0
        """Those who were lent it. One more of a shared one is simply counted, here and in the step that chooses it."""
        self.used = 0
        """The higher, the later it was last used; 0 for what was only opened ahead of need."""


class Ticket:
    """Somebody's wish for a link. It has a place once there is one for it."""

    __slots__ = ("ahead", "fresh", "key", "place")

    def __init__(self, key: LinkKey, *, fresh: bool, ahead: bool) -> None:
        self.key = key
        self.fresh = fresh
        self.ahead = ahead
        """Whether it is wished for ahead of need. Who needs one now goes first."""
        self.place: Place | None = None


class Open(msgspec.Struct, frozen=True):
    """Open a link in this place."""

    place: Place


class Close(msgspec.Struct, frozen=True):
    """Close the link in this place; nobody uses it."""

    place: Place


class Grant(msgspec.Struct, frozen=True):
    """Tell whoever holds this ticket that it has a place."""

    ticket: Ticket


Order = Open | Close | Grant
Orders = tuple[Order, ...]
NOTHING: Orders = ()


class Ledger:
    """Never more than `most` places. Those who need a new one get it in the order in which they asked, and before those
    who want one ahead of need; who can share one that is there does not wait."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: set[Place] = set()
        self._shared: dict[LinkKey, Place] = {}
        self._waiting: deque[Ticket] = deque()
        self._uses = 0
        self._opened = 0

    @property
    def places(self) -> frozenset[Place]:
        return frozenset(self._places)

    @property
    def waiting(self) -> tuple[Ticket, ...]:
        return tuple(self._waiting)

    @property
    def full(self) -> bool:
        """Whether one who needs a new place would have to wait."""
        return len(self._places) >= self._most or bool(self._waiting)

    def shared(self, key: LinkKey) -> Place | None:
        """The place of this key that many may use, if it can be lent."""
        return self._shared.get(key)

    def ask(self, key: LinkKey, *, fresh: bool = False, ahead: bool = False) -> tuple[Ticket, Orders]:
        """Wish for a link. Where it can be had, the ticket has its place in the same step."""
        ticket = Ticket(key, fresh=fresh, ahead=ahead)
        place = None if fresh else self._shared.get(key)
        if place is not None:
            self._lend(place, ticket)
            return ticket, NOTHING
        needed = sum(not other.ahead for other in self._waiting)
        self._waiting.insert(len(self._waiting) if ahead else needed, ticket)
        return ticket, self._advance()

    def withdraw(self, ticket: Ticket) -> Orders:
        """The wish is no more, whether or not it was granted."""
        if ticket.place is not None:
            return self.give_back(ticket.place, used=False)
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        return NOTHING

    def give_back(self, place: Place, *, used: bool = True) -> Orders:
        """A user is done. One who only had it opened ahead of need has not used it."""
        place.users -= 1
        if used:
            self._uses += 1
            place.used = self._uses
        if place.users:
            return NOTHING
        if place.fresh and place.lendable:
            self._retire(place)
            return (Close(place),)
        return self._advance() if self._waiting else NOTHING

    def broken(self, place: Place) -> Orders:
        """The link there is dead. It is never lent again, and counts until it is gone."""
        self._retire(place)
        return self._advance()

    def gone(self, place: Place) -> Orders:
        """Nothing of the link is left."""
        self._retire(place)
        self._places.discard(place)
        return self._advance()

    def _advance(self) -> Orders:
        """Serve those who wait, as far as there is room; for the others, make room if somebody can spare it."""
        orders: list[Order] = []
        while self._waiting and len(self._places) < self._most:
            ticket = self._waiting.popleft()
            self._opened += 1
            place = Place(ticket.key, self._opened, fresh=ticket.fresh)
            self._places.add(place)
            orders.append(Open(place))
            sharing = [ticket]
            if not ticket.fresh:
                self._shared[ticket.key] = place
                # All who wait for the same can share it.
                sharing += [other for other in self._waiting if other.key == ticket.key and not other.fresh]
            for one in sharing:
                self._lend(place, one)
                orders.append(Grant(one))
            self._waiting = deque(other for other in self._waiting if other.place is None)
        orders.extend(Close(place) for place in self._spared())
        return tuple(orders)

    def _spared(self) -> Iterable[Place]:
        """Places that nobody uses: as many as are needed and not on their way out yet. First come those that were only
        opened ahead of need, the latest of them first, so that not each pushes out the one before; then those longest
        unused."""
        wanted = len({(one.key, id(one) if one.fresh else 0) for one in self._waiting})
        ending = sum(not place.lendable for place in self._places)
        if wanted <= ending:
            return ()
        idle = [place for place in self._places if place.lendable and not place.users]
        idle.sort(key=lambda place: (place.used, -place.number))
        spared = idle[: wanted - ending]
        for place in spared:
            self._retire(place)
        return spared

    def _lend(self, place: Place, ticket: Ticket) -> None:
        place.users += 1
        ticket.place = place

    def _retire(self, place: Place) -> None:
        place.lendable = False
        if self._shared.get(place.key) is place:
            del self._shared[place.key]
