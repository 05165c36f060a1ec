"""A store in which nothing stays."""

from bascule.store.interface import KeptListing, ListingKey, Store
from bascule.store.unkept import Unkept


async def test_what_is_kept_there_is_gone():
    store: Store = Unkept()
    key = ListingKey("home", "open", "work")
    await store.open()
    await store.keep_listing(key, KeptListing("digest", {}))

    assert await store.listing(key) is None
    await store.close()
