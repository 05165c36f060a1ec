"""A store that keeps nothing, for servers that are only tried."""

from bascule.store.interface import KeptListing, ListingKey


class Unkept:
    """Every listing is the first, and none is kept."""

    async def open(self) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """There is nothing to close."""

    async def listing(self, key: ListingKey) -> KeptListing | None:  # noqa: ARG002 -- whichever it is, it is not here
        return None

    async def keep_listing(self, key: ListingKey, listing: KeptListing) -> None:
        """Let it go."""
