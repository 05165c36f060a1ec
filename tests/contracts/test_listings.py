"""What every engine of the store does with listings."""

import pytest

from bascule.store.interface import KeptListing, ListingKey
from support.level_stores import Place

KEY = ListingKey("/home/a/.mcp.json", "open", "files")
LISTING = KeptListing("sha256:whole", {"read": "sha256:1", "write": "sha256:2"})


async def test_a_listing_survives_a_restart(level_place: Place):
    store = level_place.make()
    await store.keep_listing(KEY, LISTING)
    await store.close()

    assert await (await level_place.open_store()).listing(KEY) == LISTING


async def test_what_was_never_kept_is_none(level_place: Place):
    assert await (await level_place.open_store()).listing(KEY) is None


async def test_keeping_again_replaces_all_of_it(level_place: Place):
    store = await level_place.open_store()
    await store.keep_listing(KEY, LISTING)
    smaller = KeptListing("sha256:other", {"read": "sha256:9"})
    await store.keep_listing(KEY, smaller)

    assert await store.listing(KEY) == smaller


@pytest.mark.parametrize("other", [{"home": "/b"}, {"sandbox": "sealed"}, {"server": "notes"}])
async def test_each_part_of_the_key_tells_listings_apart(level_place: Place, other: dict[str, str]):
    store = await level_place.open_store()
    await store.keep_listing(KEY, LISTING)
    key = {"home": KEY.home, "sandbox": KEY.sandbox, "server": KEY.server, **other}

    assert await store.listing(ListingKey(**key)) is None


async def test_names_may_be_long_and_odd(level_place: Place):
    store = await level_place.open_store()
    key = ListingKey("/" + "ü" * 4000, "open", "files")
    odd = KeptListing("sha256:odd", {"": "1", "a\0b": "2", "'; DROP TABLE listings": "3", "日本": "4", "%s": "5"})
    await store.keep_listing(key, odd)

    assert await store.listing(key) == odd


async def test_two_stores_on_one_new_place_both_open(level_place: Place):
    first, second = await level_place.open_store(), await level_place.open_store()
    await first.keep_listing(KEY, LISTING)

    assert await second.listing(KEY) == LISTING


async def test_a_store_that_was_closed_can_be_used_again_and_closed_twice(level_place: Place):
    store = await level_place.open_store()
    await store.keep_listing(KEY, LISTING)
    await store.close()
    await store.close()

    assert await store.listing(KEY) == LISTING
