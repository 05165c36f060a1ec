"""What is remembered of listings from one run to the next, and what has changed since."""

from collections.abc import Callable, Mapping
from itertools import chain, islice

from bascule.catalog.server_listing import ServerListing
from bascule.core.events import CatalogChanged
from bascule.core.sensitivity import Lane
from bascule.store.interface import KeptListing, ListingKey, Store

MAX_FINDINGS = 100
"""Findings told with a change. The catalog has them all."""


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
        place = (lane, listing.server)
        if self._known.get(place) == listing.digest:
            return None
        key = ListingKey(self._home, lane, listing.server)
        kept = await self._store.listing(key)
        self._known[place] = listing.digest
        if kept is not None and kept.digest == listing.digest:
            return None
        digests = {name: entry.spec.digest for name, entry in listing.entries.items()}
        await self._store.keep_listing(key, KeptListing(listing.digest, digests))
        change = _difference(listing, kept.tools if kept is not None else {}, digests, self._clock())
        if kept is not None:
            self.changes[listing.server] = change
        return change


def _difference(listing: ServerListing, before: Mapping[str, str], now: Mapping[str, str], at: float) -> CatalogChanged:
    both = before.keys() & now.keys()
    return CatalogChanged(
        listing.server,
        added=tuple(sorted(now.keys() - before.keys())),
        changed=tuple(sorted(name for name in both if before[name] != now[name])),
        removed=tuple(sorted(before.keys() - now.keys())),
        at=at,
        findings=_findings(listing, before),
    )


def _findings(listing: ServerListing, before: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the texts that were not there before."""
    specs = (entry.spec for entry in listing.entries.values())
    new = (spec for spec in specs if spec.findings and before.get(spec.key.tool) != spec.digest)
    told = (f"{spec.key.tool}: {finding}" for spec in new for finding in spec.findings)
    return tuple(islice(chain(map(str, listing.findings), told), MAX_FINDINGS))
