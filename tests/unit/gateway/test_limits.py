import asyncio

import pytest

from bascule.gateway import limits
from bascule.gateway.limits import EASES, FREE, MOST_UNDER_WAY, PER_SECOND, Allowance, Strangers, TooMuch, address_of
from support.waiting import fail_after

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "PENANCE", 0.001)


async def test_who_was_turned_away_too_often_is_not_looked_at_until_some_of_it_is_forgiven():
    clock = Clock()
    known = Strangers(clock)
    for _ in range(FREE):
        known.check(HERE)
        assert await known.turn_away(HERE, token=True)
    with pytest.raises(TooMuch, match="this address"):
        known.check(HERE)
    known.check(THERE)
    clock.now += 1.5 / EASES
    known.check(HERE)
    await known.turn_away(HERE, token=True)
    with pytest.raises(TooMuch):
        known.check(HERE)
    clock.now += 3600
    for _ in range(FREE):
        known.check(HERE)
        await known.turn_away(HERE, token=True)


async def test_of_those_who_wait_there_are_only_so_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "PENANCE", 3600)
    monkeypatch.setattr(limits, "MOST_WAITING", 2)
    known = Strangers(Clock())
    waiting = [asyncio.ensure_future(known.wait()) for _ in range(2)]
    await asyncio.sleep(0)
    async with fail_after(5, "an answer at once"):
        assert not await known.wait()
    waiting.pop().cancel()
    await asyncio.sleep(0)
    waiting.append(asyncio.ensure_future(known.wait()))
    await asyncio.sleep(0)
    assert not waiting[-1].done()
    for each in waiting:
        each.cancel()


async def test_only_so_many_addresses_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "FREE", 1)
    monkeypatch.setattr(limits, "MOST_ADDRESSES", 2)
    known = Strangers(Clock())
    for name in ("a", "b", "a", "c"):
        await known.turn_away(name, token=True)
    known.check("b")
    for name in ("a", "c"):
        with pytest.raises(TooMuch):
            known.check(name)


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (("192.0.2.7", 5), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 5), "2001:db8:1:2::"),
        (("2001:db8:1:2:ffff::1", 5), "2001:db8:1:2::"),
        (("::ffff:192.0.2.7", 5), "192.0.2.7"),
        (("fe80::1%eth0", 5), "fe80::"),
        (("a:socket", 5), "a:socket"),
        (None, ""),
    ],
)
def test_one_household_is_one_address(client: object, address: str):
    assert address_of(client) == address


async def test_who_shows_no_token_at_all_keeps_nobody_from_showing_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "FREE", 1)
    known = Strangers(Clock())
    for _ in range(3):
        await known.turn_away(HERE)
    known.check(HERE)
    await known.turn_away(HERE, token=True)
    with pytest.raises(TooMuch):
        known.check(HERE)


def test_no_more_requests_are_under_way_than_may_be_and_each_that_ends_makes_room():
    mine = Allowance()
    for _ in range(MOST_UNDER_WAY):
        mine.enter(1.0)
    with pytest.raises(TooMuch, match="under way"):
        mine.enter(1.0)
    mine.leave()
    mine.enter(1.0)
    assert mine.under_way == MOST_UNDER_WAY


def test_no_more_are_taken_within_a_second_than_may_be():
    mine = Allowance()
    for _ in range(PER_SECOND):
        mine.enter(1.2)
        mine.leave()
    for now in (1.2, 1.99):
        with pytest.raises(TooMuch, match="within a second") as caught:
            mine.enter(now)
        assert caught.value.retry_after == 1
    mine.enter(2.0)
    assert mine.under_way == 1


def test_who_stands_for_everybody_may_ask_as_often_as_everybody_does():
    everybody = Allowance(everybody=True)
    for _ in range(2 * PER_SECOND):
        everybody.enter(1.0)
        everybody.leave()


def test_large_bodies_take_their_share_and_give_it_back():
    mine = Allowance()
    mine.hold(6, 10)
    with pytest.raises(TooMuch, match="10 bytes"):
        mine.hold(5, 10)
    mine.hold(4, 10)
    mine.let_go(6)
    mine.hold(6, 10)
    assert mine.held == 10
