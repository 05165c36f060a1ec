"""Listing history: digests of tool listings, kept across runs, and the changes since the last one."""

from collections.abc import Callable, Mapping
from itertools import chain, islice
from typing import Literal

from msgspec import structs

from bascule.catalog.digest import listing_digest
from bascule.catalog.server_listing import ServerListing
from bascule.core.events import CatalogChanged
from bascule.core.sensitivity import Lane
from bascule.store.interface import KeptListing, ListingKey, Store

MAX_FINDINGS = 100
"""Findings told with a change. The catalog has them all."""

OfferKind = Literal["resources", "prompts"]


class ListingMemory:
    """The listings of one config, kept in the store. A change is told once, against what was last kept."""

    def __init__(self, store: Store, home: str, clock: Callable[[], float]) -> None:
        self._store = store
        self._home = home
        self._clock = clock
        self._known: dict[tuple[Lane, str], str] = {}
        self.changes: dict[str, CatalogChanged] = {}
        """By server: what had changed when it was first listed in this run. Not there: nothing, or seen for the
        first time."""

    async def note(self, lane: Lane, listing: ServerListing) -> CatalogChanged | None:
        """Keep a listing. What changed since the last time, if anything did."""
        digests = {name: entry.spec.digest for name, entry in listing.entries.items()}
        kept, is_new = await self._keep(lane, listing.server, listing.digest, digests)
        if not is_new:
            return None
        change = _difference(listing.server, kept.tools if kept is not None else {}, digests, self._clock())
        change = structs.replace(change, findings=_findings(listing, kept.tools if kept is not None else {}))
        if kept is not None:
            self.changes[listing.server] = change
        return change

    async def note_offers(
        self, lane: Lane, server: str, kind: OfferKind, digests: Mapping[str, str]
    ) -> CatalogChanged | None:
        """Keep what a server offers beside tools, under a name that no server can have. What changed, if anything
        did."""
        kept, is_new = await self._keep(lane, f"{server}/{kind}", listing_digest(digests, ""), digests)
        if not is_new or (kept is None and not digests):
            return None
        before: Mapping[str, str] = kept.tools if kept is not None else {}
        return structs.replace(_difference(server, before, digests, self._clock()), kind=kind)

    async def _keep(
        self, lane: Lane, name: str, digest: str, digests: Mapping[str, str]
    ) -> tuple[KeptListing | None, bool]:
        """What was kept before, and whether this is something else."""
        if self._known.get((lane, name)) == digest:
            return None, False
        key = ListingKey(self._home, lane, name)
        kept = await self._store.listing(key)
        self._known[lane, name] = digest
        if kept is not None and kept.digest == digest:
            return kept, False
        await self._store.keep_listing(key, KeptListing(digest, digests))
        return kept, True


def _difference(server: str, before: Mapping[str, str], now: Mapping[str, str], at: float) -> CatalogChanged:
    both = before.keys() & now.keys()
    return CatalogChanged(
        server,
        added=tuple(sorted(now.keys() - before.keys())),
        changed=tuple(sorted(name for name in both if before[name] != now[name])),
        removed=tuple(sorted(before.keys() - now.keys())),
        at=at,
    )


def _findings(listing: ServerListing, before: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the texts that were not there before."""
    specs = (entry.spec for entry in listing.entries.values())
    new = (spec for spec in specs if spec.findings and before.get(spec.key.tool) != spec.digest)
    told = (f"{spec.key.tool}: {finding}" for spec in new for finding in spec.findings)
    return tuple(islice(chain(map(str, listing.findings), told), MAX_FINDINGS))
