"""One member among others: what it owns while it is fresh that it lives, and what it does when it is not."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.gateway.cluster import membership as module
from bascule.gateway.cluster.membership import HOLDS, TAKING, Membership
from bascule.store.owners import LIFE, Member, OwnerStore
from bascule.store.sqlite.store import SqliteStore
from support.waiting import fail_after, until

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


class Watched:
    """A real store, that tells how often it was asked, and can be out of reach."""

    def __init__(self, store: OwnerStore) -> None:
        self._store = store
        self.claims = 0
        self.down = False

    def _check(self) -> OwnerStore:
        if self.down:
            raise StoreError("out of reach")
        return self._store

    async def secret(self) -> bytes:
        return await self._check().secret()

    async def join(self, member: Member) -> None:
        await self._check().join(member)

    async def renew(self, member: Member) -> tuple[Member, ...] | None:
        return await self._check().renew(member)

    async def claim(self, principal: Principal, member: str, gone: str = "") -> str:
        self.claims += 1
        return await self._check().claim(principal, member, gone)

    async def release(self, member: str, principals: Collection[Principal]) -> None:
        await self._check().release(member, principals)

    async def leave(self, member: str) -> None:
        await self._check().leave(member)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Place:
    """A store, its clock, and what members of the test let go."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self._sqlite = SqliteStore(folder / "bascule.db")
        self._sqlite.owners._clock = self.clock
        self.let_go: list[Principal] = []

    @asynccontextmanager
    async def member(self) -> AsyncGenerator[tuple[Membership, Watched]]:
        store = Watched(self._sqlite.owners)
        made = Membership(store, "", self.let_go.append, self.clock)
        await made.open()
        try:
            yield made, store
        finally:
            store.down = False
            await made.close()

    async def close(self) -> None:
        await self._sqlite.close()


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Place]:
    # They look when the test says so.
    monkeypatch.setattr(module, "INTERVAL", 600)
    made = Place(tmp_path)
    async with fail_after(30, "the test"):
        yield made
    await made.close()


async def test_what_is_ours_is_asked_of_the_store_once(place: Place):
    async with place.member() as (one, store):
        assert not one.owns(ALICE)
        owners = await asyncio.gather(*(one.owner(ALICE) for _ in range(20)))
        assert {each.id for each in owners if each} == {one.me.id}
        assert one.owns(ALICE)
        await one.owner(ALICE)
        assert store.claims == 1


async def test_who_owns_what_is_not_ours_is_remembered_too(place: Place):
    async with place.member() as (one, _), place.member() as (two, store):
        await one.owner(ALICE)
        for _ in range(3):
            found = await two.owner(ALICE)
            assert found is not None
            assert found.id == one.me.id
        assert store.claims == 1
        two.forget(ALICE)
        await two.owner(ALICE)
        assert store.claims == 2


async def test_nothing_is_ours_once_our_word_is_too_old(place: Place):
    async with place.member() as (one, store):
        await one.owner(ALICE)
        store.down = True
        place.clock.now += HOLDS
        assert not one.owns(ALICE)
        assert await one.owner(ALICE) is None
        store.down = False
        await one._renew()
        assert one.owns(ALICE)


async def test_who_was_silent_for_too_long_has_lost_all_and_comes_back_as_somebody_new(place: Place):
    async with place.member() as (one, _), place.member() as (two, _):
        before = one.me.id
        await one.owner(ALICE)
        await two._renew()
        place.clock.now += LIFE
        await two._renew()  # nobody any more, too
        taken = await two.owner(ALICE)
        assert taken is not None
        assert taken.id == two.me.id
        with one.holding(ALICE):
            await one._renew()
            assert place.let_go == [ALICE]
        assert one.me.id != before
        assert not one.owns(ALICE)
        found = await one.owner(ALICE)
        assert found is not None
        assert found.id == two.me.id


async def test_who_leaves_gives_away_what_is_idle_and_the_rest_when_it_is(place: Place):
    async with place.member() as (one, _), place.member() as (two, _):
        await one.owner(ALICE)
        await one.owner(BOB)
        with one.holding(ALICE):
            await one.retire()
            assert place.let_go == [BOB]
            assert one.takes(ALICE)
            found = await one.owner(BOB)
            assert found is not None
            assert found.id == two.me.id
            assert (await two.owner(ALICE) or two.me).id == one.me.id
        await one.given_away()
        assert place.let_go == [BOB, ALICE]
        two.forget(ALICE)
        assert (await two.owner(ALICE) or one.me).id == two.me.id


async def test_who_leaves_does_not_take_new_requests_for_ever(place: Place):
    async with place.member() as (one, _):
        await one.owner(ALICE)
        with one.holding(ALICE):
            await one.retire()
            place.clock.now += TAKING / 2
            await one._renew()
            assert one.takes(ALICE)
            place.clock.now += TAKING / 2
            await one._renew()
            assert one.owns(ALICE)
            assert not one.takes(ALICE)


async def test_whoever_leaves_alone_has_nobody_to_send_to(place: Place):
    async with place.member() as (one, _):
        await one.retire()
        assert await one.owner(ALICE) is None
        assert await one.is_alone()


async def test_what_is_awaited_from_one_that_has_died_is_awaited_no_longer(place: Place):
    async with place.member() as (one, _), place.member() as (two, _):
        await one.owner(ALICE)
        found = await two.owner(ALICE)
        assert found is not None

        async def relying() -> None:
            async with asyncio.timeout(None) as limit:
                with two.relying_on(found, limit):
                    await asyncio.Event().wait()

        waiting = asyncio.ensure_future(relying())
        await until(lambda: bool(two._waiting))
        two._see({two.me.id: two.me})
        with pytest.raises(TimeoutError):
            await waiting


async def test_what_one_owned_whose_process_has_ended_is_taken_at_once(place: Place):
    async with place.member() as (one, _), place.member() as (two, _):
        await one.owner(ALICE)
        found = await two.owner(ALICE)
        assert found is not None
        await two.bury(found, ALICE)
        assert two.owns(ALICE)
        await one._renew()
        assert not one.owns(ALICE)


async def test_where_it_has_moved_is_believed_of_who_is_known(place: Place):
    async with place.member() as (one, _), place.member() as (two, store):
        await two._renew()
        two.forget(ALICE, one.me.id)
        assert (await two.owner(ALICE) or two.me).id == one.me.id
        two.forget(ALICE, "nobody")
        assert store.claims == 0
        await two.owner(ALICE)
        assert store.claims == 1


async def test_it_says_again_and_again_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "INTERVAL", 0.01)
    place = Place(tmp_path)
    async with fail_after(20, "a member"), place.member() as (one, store):
        await one.owner(ALICE)
        place.clock.now += HOLDS / 2
        before = one._until
        await until(lambda: one._until > before)
        store.down = True
        place.clock.now += HOLDS
        await until(lambda: place.let_go == [ALICE])
    await place.close()
