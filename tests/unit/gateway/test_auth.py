import asyncio
from typing import Any, cast

import pytest

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.gateway import auth, limits
from bascule.gateway.auth import BELIEVED_FOR, Callers, Guests
from bascule.gateway.limits import PER_SECOND, TooMuch
from bascule.identity.jwt.claims import Identity
from support.runtime import running
from support.virtual_time import in_virtual_time

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


class Book:
    """Believes those who stand in it, and counts how often it is asked."""

    def __init__(self, **known: Identity) -> None:
        self.known = known
        self.asked: list[str | None] = []
        self.closed = False

    async def verify(self, token: str | None) -> Identity:
        self.asked.append(token)
        if token not in self.known:
            raise NotIdentified("who?", rule="token_shown")
        return self.known[token]

    async def aclose(self) -> None:
        self.closed = True


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_guest_is_who_was_invited_and_for_as_long_as_that_lasts():
    async with running() as runtime:
        guests = Guests()
        who = Callers(runtime, None, Clock(), development=ALICE, guests=guests)
        with guests.invited(BOB) as word:
            assert (await who.find(word)).session.principal == BOB
            for other in ("", "Bearer guessed", word.lower()):
                assert (await who.find(other)).session.principal == ALICE
        assert (await who.find(word)).session.principal == ALICE


def test_where_tokens_are_asked_for_there_are_no_guests():
    with pytest.raises(ValueError, match="guests only where"):
        Callers(cast("Any", None), Book(), Clock(), guests=Guests())


async def test_a_token_is_verified_once_and_then_for_a_while_believed():
    book, clock = Book(a=Identity(ALICE, 99_999.0), b=Identity(BOB, 1010.0)), Clock()
    async with running() as runtime:
        who = Callers(runtime, book, clock)
        desk = await who.find("Bearer a")
        assert desk.session.principal == ALICE
        assert await who.find("Bearer a") is desk
        assert (await who.find("bearer  b")).session.principal == BOB
        clock.now += 11
        with pytest.raises(AssertionError):
            assert who.known("bearer  b") is not None
        clock.now += BELIEVED_FOR
        assert await who.find("Bearer a") is desk
        await who.close()
    assert book.asked == ["a", "b", "a"]
    assert book.closed


@pytest.mark.parametrize("shown", ["", "Bearer x", "Basic a", "a", "Bearer"])
async def test_nobody_is_anybody(shown: str):
    async with running() as runtime:
        who = Callers(runtime, Book(a=Identity(ALICE, 99_999.0)), Clock())
        for _ in range(2):
            with pytest.raises(NotIdentified):
                await who.find(shown)
            assert who.known(shown) is None


async def test_no_more_tokens_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(auth, "MOST_KNOWN", 2)
    clock = Clock()
    people = {name: Identity(Principal(name, "s"), 99_999.0) for name in "abcd"}
    book = Book(**people)
    async with running() as runtime:
        who = Callers(runtime, book, clock)
        for name in "abc":
            await who.find(f"Bearer {name}")
        assert [who.known(f"Bearer {name}") is not None for name in "abc"] == [True, True, False]
        clock.now += BELIEVED_FOR + 1
        await who.find("Bearer d")
        assert who.known("Bearer d") is not None


async def test_one_principal_may_stand_for_everybody_but_not_beside_tokens():
    async with running() as runtime:
        who = Callers(runtime, None, Clock(), development=ALICE)
        assert (await who.find("")).session.principal == ALICE
        assert (await who.find("Bearer x")) is who.known("")
        await who.close()
        wrong: list[Any] = [(None, None), (Book(), ALICE)]
        for believes, development in wrong:
            with pytest.raises(ValueError, match="either"):
                Callers(runtime, believes, Clock(), development=development)


def test_a_token_lasts_no_longer_than_its_own_time_and_is_looked_at_now_and_then():
    async def life(expires: float, taken_back: float | None = None) -> tuple[float, int]:
        """How long it lasts, from 1000 on, and how often it was looked at."""
        book, loop = Book(a=Identity(ALICE, expires)), asyncio.get_running_loop()
        who = Callers(cast("Any", None), book, loop.time)
        who.desk = cast("Any", lambda _principal: None)
        if taken_back is not None:
            loop.call_at(taken_back, book.known.clear)
        await who.lasts("Bearer a")
        return loop.time() - 1000, len(book.asked)

    assert in_virtual_time(life(1010.0)) == (10.0, 2)
    assert in_virtual_time(life(1150.0)) == (150.0, 4)
    # As if it were shown again: a key that was taken back is noticed within a minute.
    assert in_virtual_time(life(99_999.0, taken_back=1130.0)) == (180.0, 4)


async def test_where_everybody_is_one_principal_that_lasts():
    async with running() as runtime:
        lasting = asyncio.ensure_future(Callers(runtime, None, Clock(), development=ALICE).lasts(""))
        await asyncio.sleep(0)
        assert not lasting.done()
        lasting.cancel()


async def test_who_was_believed_before_is_asked_again_however_many_were_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "FREE", 1)
    monkeypatch.setattr(limits, "PENANCE", 0.001)
    book, clock = Book(a=Identity(ALICE, 2000.0), b=Identity(BOB, 2000.0)), Clock()
    async with running() as runtime:
        who = Callers(runtime, book, clock)
        await who.find("Bearer a", "here")
        await who.strangers.turn_away("here", token=True)
        clock.now += 0.01
        for token in ("Bearer b", "Bearer x"):
            with pytest.raises(TooMuch):
                await who.find(token, "here")
        assert await who.find("Bearer b", "there")
        clock.now += BELIEVED_FOR + 1
        await who.strangers.turn_away("here", token=True)
        await who.strangers.turn_away("here", token=True)
        assert (await who.find("Bearer a", "here")).session.principal == ALICE
        clock.now = 2000.0
        await who.strangers.turn_away("here", token=True)
        await who.strangers.turn_away("here", token=True)
        with pytest.raises(TooMuch):
            await who.find("Bearer a", "here")
    assert book.asked == ["a", "b", "a"]


async def test_only_who_stands_for_everybody_may_ask_without_end():
    async with running() as runtime:
        token = await Callers(runtime, Book(a=Identity(BOB, 99_999.0)), Clock()).find("Bearer a")
        everybody = await Callers(runtime, None, Clock(), development=ALICE).find("")
        assert (token.allowance.per_second, everybody.allowance.per_second) == (PER_SECOND, None)
        assert token.allowance.most < everybody.allowance.most


async def test_who_is_idle_and_has_no_link_open_is_forgotten_when_somebody_new_comes():
    people = {name: Identity(Principal(name, "s"), 99_999.0) for name in "abcd"}
    book, clock = Book(**people), Clock()
    async with running() as runtime:
        who = Callers(runtime, book, clock)
        idle, busy = await who.find("Bearer a"), await who.find("Bearer b")
        who.admit(idle)
        idle.allowance.leave()
        who.admit(busy)
        await idle.session.begin()
        clock.now += auth.IDLE + 1
        fresh = await who.find("Bearer c")
        assert await who.find("Bearer b") is busy
        assert runtime.session("b", "s") is busy.session
        again = await who.find("Bearer a")
        assert again is not idle
        assert again.session is runtime.session("a", "s")
        assert again.session is not idle.session
        clock.now += 1
        await who.find("Bearer d")
        assert (await who.find("Bearer c")) is fresh


async def test_a_crowd_of_idle_ones_is_made_smaller(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(auth, "MOST_DESKS", 10)
    people = {f"p{number}": Identity(Principal(f"p{number}", "s"), 99_999.0) for number in range(30)}
    clock = Clock()
    async with running() as runtime:
        who = Callers(runtime, Book(**people), clock)
        first = await who.find("Bearer p0")
        who.admit(first)
        for name in people:
            clock.now += 1.5
            desk = await who.find(f"Bearer {name}")
            who.admit(desk)
            if name != "p0":
                desk.allowance.leave()
        assert await who.find("Bearer p0") is first
        assert await who.find("Bearer p29") is who.known("Bearer p29")
        assert len(who._desks) <= 10  # pyright: ignore[reportPrivateUsage]
        # A token that was believed a moment ago leads to who is there now.
        again = await who.find("Bearer p1")
        assert again.session is runtime.session("p1", "s")


def test_each_guest_has_a_word_of_its_own_that_counts_until_it_leaves():
    guests = Guests()
    with guests.invited(ALICE) as one, guests.invited(BOB) as other:
        assert one != other
        assert (guests.who(one), guests.who(other)) == (ALICE, BOB)
        assert guests.who("Bearer somebody") is None
        assert guests.who("") is None
    assert (guests.who(one), guests.who(other)) == (None, None)


def test_the_word_can_be_a_header_and_cannot_be_guessed():
    with Guests().invited(ALICE) as word:
        assert word.startswith("Bearer ")
        assert len(word) > 40
        assert word.isascii()
