"""What every engine that keeps anchors does: the newest of each chain, and never back."""

import asyncio

from bascule.store.audit.anchors import Anchor
from support.level_stores import Place


def an_anchor(sequence: int, writer: str = "w-0001") -> Anchor:
    return Anchor(writer, sequence, "ab" * 32, 5.0)


async def test_a_store_begins_without_anchors(level_place: Place):
    assert await (await level_place.open_store()).anchors.sealed() == {}


async def test_the_newest_anchor_of_each_chain_is_kept(level_place: Place):
    anchors = (await level_place.open_store()).anchors
    assert await anchors.keep(an_anchor(0), b"zero")
    assert await anchors.keep(an_anchor(5), b"five")
    assert await anchors.keep(an_anchor(3, "w-0002"), b"three")
    other = (await level_place.open_store()).anchors

    assert await other.sealed() == {"w-0001": b"five", "w-0002": b"three"}


async def test_an_anchor_never_goes_back(level_place: Place):
    anchors = (await level_place.open_store()).anchors
    await anchors.keep(an_anchor(5), b"five")

    assert not await anchors.keep(an_anchor(4), b"four")
    assert not await anchors.keep(an_anchor(5), b"another five")
    assert await anchors.sealed() == {"w-0001": b"five"}


async def test_of_many_at_once_the_newest_stays(level_place: Place):
    stores = [await level_place.open_store() for _ in range(3)]
    keeping = [stores[n % 3].anchors.keep(an_anchor(n), str(n).encode()) for n in range(1, 31)]
    await asyncio.gather(*keeping)

    assert await stores[0].anchors.sealed() == {"w-0001": b"30"}
