"""Toolboxes that are alike are one."""

from bascule.catalog.server_listing import ServerListing
from bascule.catalog.toolbox import Toolbox

MOST_TOOLBOXES = 64
"""Toolboxes kept. Agent sessions see one of a few; a server that lists differently every time must not fill memory."""


class Toolboxes:
    """One toolbox for all agent sessions that see the same listings: they are large, and mostly the same."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse = refuse
        self._made: dict[tuple[int, ...], tuple[Toolbox, tuple[ServerListing, ...]]] = {}

    def of(self, listings: tuple[ServerListing, ...]) -> Toolbox:
        key = tuple(map(id, listings))
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= MOST_TOOLBOXES:
                self._made.pop(next(iter(self._made)))
            # The listings are kept beside it, so that none of their ids can come to mean another one.
            found = self._made[key] = (Toolbox(listings, refuse=self.refuse), listings)
        return found[0]
