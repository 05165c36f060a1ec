"""Who owns what, on each engine: one owner, for as long as it lives."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from bascule.core.principal import Principal
from bascule.store.owners import Member, OwnerStore, secret_of
from support.level_stores import Place, place_at
from support.postgres import execute

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
ONE, TWO = Member("one", "unix:/one"), Member("two", "http://two")


class Owners:
    """The store of one test, as several processes have it."""

    def __init__(self, place: Place, address: str | None, folder: Path) -> None:
        self._place = place
        self._address = address
        self._folder = folder

    async def open(self) -> OwnerStore:
        return (await self._place.open_store()).owners

    def outlive(self, member: Member) -> None:
        """Its time is over."""
        if self._address is not None:
            execute(self._address, "UPDATE bascule.members SET until = clock_timestamp() WHERE id = %s", member.id)
            return
        with closing(sqlite3.connect(self._folder / "bascule.db")) as db, db:
            db.execute("UPDATE members SET until = 0 WHERE id = ?", (member.id,))


@pytest.fixture
async def owners(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Owners]:
    async with place_at(store_address, tmp_path) as place:
        yield Owners(place, store_address, tmp_path)


async def joined(owners: Owners, *members: Member) -> OwnerStore:
    store = await owners.open()
    for member in members:
        await store.join(member)
    return store


async def test_the_first_who_claims_owns_and_others_are_told_who(owners: Owners):
    store = await joined(owners, ONE, TWO)
    assert await store.claim(ALICE, "one") == "one"
    assert await store.claim(ALICE, "two") == "one"
    assert await store.claim(ALICE, "one") == "one"
    assert await store.claim(BOB, "two") == "two"


async def test_of_many_who_claim_at_once_one_owns(owners: Owners):
    stores = [await joined(owners, Member(f"m-{number}", "")) for number in range(6)]
    told = await asyncio.gather(*(store.claim(ALICE, f"m-{number}") for number, store in enumerate(stores)))
    assert len(set(told)) == 1


async def test_everyone_alive_is_known_with_where_and_whether_it_leaves(owners: Owners):
    store = await joined(owners, ONE, TWO)
    leaving = Member("two", "http://two", leaving=True)
    assert await store.renew(leaving) is not None
    alive = await store.renew(ONE)
    assert alive is not None
    assert set(alive) == {ONE, leaving}


async def test_who_did_not_say_in_time_that_it_lives_owns_nothing_and_never_comes_back(owners: Owners):
    store = await joined(owners, ONE, TWO)
    assert await store.claim(ALICE, "one") == "one"
    owners.outlive(ONE)
    assert await store.renew(TWO) == (TWO,)
    assert await store.claim(BOB, "one") == ""
    assert await store.claim(ALICE, "two") == "two"
    assert await store.renew(ONE) is None
    assert await store.claim(ALICE, "one") == "two"


async def test_one_whose_process_has_ended_is_not_waited_for(owners: Owners):
    store = await joined(owners, ONE, TWO)
    assert await store.claim(ALICE, "one") == "one"
    assert await store.claim(ALICE, "two", gone="one") == "two"
    assert await store.renew(ONE) is None


async def test_that_one_is_gone_takes_nothing_from_a_third(owners: Owners):
    store = await joined(owners, ONE, TWO, Member("three", ""))
    assert await store.claim(ALICE, "one") == "one"
    assert await store.claim(ALICE, "three", gone="two") == "one"


async def test_what_is_released_is_free_and_only_what_is_ones_own(owners: Owners):
    store = await joined(owners, ONE, TWO)
    await store.claim(ALICE, "one")
    await store.claim(BOB, "one")
    await store.release("two", (BOB,))
    await store.release("one", (ALICE,))
    assert await store.claim(ALICE, "two") == "two"
    assert await store.claim(BOB, "two") == "one"
    await store.leave("one")
    assert await store.claim(BOB, "two") == "two"


async def test_what_the_dead_owned_is_forgotten_in_time(owners: Owners):
    store = await joined(owners, ONE)
    await store.claim(ALICE, "one")
    await store.leave("one")
    await store.join(TWO)
    assert await store.claim(ALICE, "two") == "two"


async def test_all_have_a_secret_in_common(owners: Owners):
    one, two = await owners.open(), await owners.open()
    assert await one.secret() == await two.secret()
    assert len(await one.secret()) == 32


def test_the_secret_tells_nothing_of_the_key_it_is_made_from():
    assert secret_of(b"k" * 32) != b"k" * 32
    assert secret_of(b"k" * 32) != secret_of(b"l" * 32)
