"""Store interface, the same for each engine: server listings, sensitivity levels, audit anchors and owners."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from bascule.store.audit.anchors import AnchorStore
from bascule.store.levels.interface import LevelStore
from bascule.store.owners import OwnerStore


class ListingKey(msgspec.Struct, frozen=True):
    """Whose listing: the config that names the server, the sandbox it ran in, and its name."""

    home: str
    sandbox: str
    server: str


class KeptListing(msgspec.Struct, frozen=True):
    """A listing as it was last seen: a digest of the whole, and one of each tool."""

    digest: str
    tools: Mapping[str, str]


class Store(Protocol):
    """Raises `StoreError` where something could not be read or written; never guesses."""

    @property
    def levels(self) -> LevelStore: ...
    @property
    def anchors(self) -> AnchorStore: ...
    @property
    def owners(self) -> OwnerStore: ...

    async def open(self) -> None: ...

    async def listing(self, key: ListingKey) -> KeptListing | None: ...

    async def keep_listing(self, key: ListingKey, listing: KeptListing) -> None:
        """Replace what was kept under this key, in one step."""
        ...

    async def close(self) -> None: ...
