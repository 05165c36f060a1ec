"""Symbolic links on a path, resolved one after the other as the kernel does."""

import os
from dataclasses import dataclass
from pathlib import Path

from bascule.sandbox.mounts.path_checks import is_link
from bascule.sandbox.spec.box import Link

LONGEST = 40
"""Links that are followed on one way. The system itself gives up after as many."""


@dataclass(frozen=True, slots=True)
class Trail:
    """Where a path leads. `stops` are all paths on the way, the first as it was given and the last without links."""

    stops: tuple[str, ...]
    links: tuple[Link, ...]

    @property
    def end(self) -> str:
        return self.stops[-1]


def trail(path: str) -> Trail:
    """Follow a whole path. What is not there is followed as far as it goes."""
    stops = [os.path.normpath(path)]
    links: list[Link] = []
    while len(links) < LONGEST and (found := _first_link(stops[-1])):
        link, rest = found
        links.append(link)
        stops.append(os.path.normpath(Path(link.path).parent / link.to / rest))
    return Trail(tuple(stops), tuple(links))


def _first_link(path: str) -> tuple[Link, str] | None:
    """The first link on the way from the top, and what comes after it."""
    whole = Path(path)
    for part in (*reversed(whole.parents), whole):
        if is_link(part):
            return Link(str(part), str(part.readlink())), str(whole.relative_to(part))
    return None
