import asyncio

import pytest

from bascule.gateway import limits
from bascule.gateway.limits import EASES, FREE, Strangers, TooMuch, address_of
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
