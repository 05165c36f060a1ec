"""The ledger against a model of what it promises, and the promises one by one."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from bascule.upstream.key import LinkKey
from bascule.upstream.ledger import Close, Grant, Ledger, Open, Orders, Place, Ticket
from support.links import BOB, a_key

A, B, C = a_key("a"), a_key("b"), a_key("b", principal=BOB)
MOST = 3


class LedgerModel(RuleBasedStateMachine):
    """Many who ask, give back, give up; links that open, break and end; in any order."""

    tickets = Bundle("tickets")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(MOST)
        self.open: set[Place] = set()
        """Ordered to be opened, and not gone."""
        self.spent: set[Place] = set()
        """Broken, or ordered to be closed."""
        self.queue: list[Ticket] = []
        """Who waits, in the order in which they asked."""
        self.users: dict[Place, int] = {}
        self.order: list[Place] = []

    def obey(self, orders: Orders) -> None:
        for order in orders:
            match order:
                case Open(place):
                    assert place not in self.open
                    self.open.add(place)
                    self.order.append(place)
                    self.users[place] = 0
                    # Whoever needs a new place gets it in turn: it is opened for the first who waits.
                    if self.queue:
                        assert place.key == self.queue[0].key
                case Close(place):
                    assert place in self.open - self.spent
                    assert not self.users[place], "closed under somebody"
                    self.spent.add(place)
                case Grant(ticket):
                    self.queue.remove(ticket)
                    self.granted(ticket)

    def granted(self, ticket: Ticket) -> None:
        assert ticket.place in self.open - self.spent, "lent a broken one"
        assert ticket.place.key == ticket.key
        self.users[ticket.place] += 1
        assert not ticket.place.fresh or self.users[ticket.place] == 1

    @rule(target=tickets, key=st.sampled_from([A, B, C]), fresh=st.booleans(), ahead=st.booleans())
    def ask(self, key: LinkKey, fresh: bool, ahead: bool) -> Ticket:
        ticket, orders = self.ledger.ask(key, fresh=fresh, ahead=ahead)
        self.queue.append(ticket)
        self.queue.sort(key=lambda one: one.ahead)  # in turn, and who needs one now first
        if ticket.place is not None and not orders:
            self.queue.remove(ticket)
            self.granted(ticket)
        self.obey(orders)
        return ticket

    @rule(ticket=consumes(tickets))
    def withdraw(self, ticket: Ticket) -> None:
        if ticket.place is None:
            self.queue.remove(ticket)
        else:
            self.users[ticket.place] -= 1
        self.obey(self.ledger.withdraw(ticket))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def breaks(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.open, key=self.order.index)))
        self.spent.add(place)
        self.obey(self.ledger.broken(place))

    @precondition(lambda self: self.spent)
    @rule(data=st.data())
    def gone(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.spent, key=self.order.index)))
        self.spent.discard(place)
        self.open.discard(place)
        self.obey(self.ledger.gone(place))

    @invariant()
    def never_too_many(self) -> None:
        assert self.ledger.places == self.open
        assert len(self.open) <= MOST

    @invariant()
    def everyone_is_counted(self) -> None:
        assert all(place.users == self.users[place] >= 0 for place in self.open)
        assert list(self.ledger.waiting) == self.queue

    @invariant()
    def nobody_waits_without_need(self) -> None:
        if self.queue:
            assert len(self.open) == MOST
            idle = [place for place in self.open - self.spent if not self.users[place]]
            assert len(self.spent) or not idle
            shared = {place.key for place in self.open - self.spent if not place.fresh}
            assert all(ticket.fresh or ticket.key not in shared for ticket in self.queue)

    @invariant()
    def what_is_shared_can_be_lent(self) -> None:
        for key in (A, B, C):
            place = self.ledger.shared(key)
            assert place is None or (place in self.open - self.spent and place.key == key)


LedgerModel.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestLedger = LedgerModel.TestCase


def granted(ledger: Ledger, *keys: LinkKey) -> list[Place]:
    places = [ledger.ask(key)[0].place for key in keys]
    assert None not in places
    return [place for place in places if place is not None]


def test_those_who_ask_for_the_same_share_it():
    ledger = Ledger(1)
    first, second = granted(ledger, A, A)

    assert first is second
    assert first.users == 2


def test_a_fresh_one_is_shared_with_nobody_and_closed_after_use():
    ledger = Ledger(3)
    (one, _), (other, _) = ledger.ask(A, fresh=True), ledger.ask(A, fresh=True)
    assert one.place is not None
    assert one.place is not other.place
    assert ledger.shared(A) is None

    assert ledger.give_back(one.place) == (Close(one.place),)


def test_the_one_longest_unused_makes_room():
    ledger = Ledger(2)
    a, b = granted(ledger, A, B)
    ledger.give_back(b)
    ledger.give_back(a)
    ticket, orders = ledger.ask(C)

    assert orders == (Close(b),)
    assert ticket.place is None
    opened, grant = ledger.gone(b)
    assert isinstance(opened, Open)
    assert grant == Grant(ticket)
    assert ticket.place is opened.place


def test_who_needs_one_now_goes_before_those_who_want_one_ahead_of_need():
    ledger = Ledger(1)
    (a,) = granted(ledger, A)
    later, _ = ledger.ask(B, ahead=True)
    now, _ = ledger.ask(C)
    assert ledger.waiting == (now, later)
    ledger.broken(a)
    ledger.gone(a)

    assert now.place is not None
    assert later.place is None


def test_what_was_opened_ahead_of_need_makes_room_first_and_the_latest_of_it():
    ledger = Ledger(3)
    a, b, c = granted(ledger, A, B, C)
    for place, used in ((a, True), (b, False), (c, False)):
        ledger.give_back(place, used=used)
    _, orders = ledger.ask(a_key("d"))
    assert orders == (Close(c),)
    _, orders = ledger.ask(a_key("e"))
    assert orders == (Close(b),)
    _, orders = ledger.ask(a_key("f"))
    assert orders == (Close(a),)


def test_nobody_is_closed_for_one_who_has_given_up():
    ledger = Ledger(1)
    (a,) = granted(ledger, A)
    ticket, _ = ledger.ask(B)
    ledger.withdraw(ticket)

    assert ledger.give_back(a) == ()
    assert ledger.shared(A) is a


def test_a_broken_one_counts_until_it_is_gone():
    ledger = Ledger(1)
    (a,) = granted(ledger, A)
    assert ledger.broken(a) == ()
    ticket, orders = ledger.ask(A)

    assert (ticket.place, orders, ledger.full) == (None, (), True)
    assert ledger.gone(a)
    assert ticket.place is not None
    assert ticket.place is not a
