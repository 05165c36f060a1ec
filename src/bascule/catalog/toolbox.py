"""Toolbox: all tools of all servers by exposed name. This table routes calls; a name is never taken apart."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bascule.catalog.entry import Entry
from bascule.catalog.naming import collision_problem, nearest_names
from bascule.catalog.screening.confusables import lookalikes
from bascule.catalog.screening.findings import refusal_of
from bascule.catalog.search.index import SearchIndex
from bascule.catalog.server_listing import ServerListing
from bascule.core.errors import UnknownTool
from bascule.core.finding import Finding
from bascule.core.tool import ToolSpec, ToolStatus


class Toolbox:
    """The listings of several servers, merged. Frozen: a changed listing makes a new toolbox."""

    __slots__ = ("__weakref__", "_all", "_collisions", "_entries", "_exposed", "_index")

    def __init__(self, listings: Iterable[ServerListing] = (), *, refuse: bool = False) -> None:
        """`refuse` says whether tools with findings are kept from agents."""
        listed = [entry for listing in listings for entry in listing.entries.values()]
        alike = lookalikes(entry.spec for entry in listed)
        entries = [_judged(entry, alike.get(entry.spec.key), refuse=refuse) for entry in listed]
        self._entries, self._collisions = _table(entries)
        self._all = tuple(self._status(entry.spec) for entry in entries)
        self._exposed = tuple(spec for spec in self._all if spec.status is ToolStatus.EXPOSED)
        self._index: SearchIndex | None = None

    def resolve(self, name: str) -> Entry:
        """The tool of this name. It may be one that cannot be used; a hidden one is unknown."""
        entry = self._entries.get(name)
        if entry is None:
            raise self.unknown(name)
        return entry

    def has(self, name: str) -> bool:
        """Whether `resolve` finds a tool of this name."""
        return name in self._entries

    def unknown(self, name: str) -> UnknownTool:
        """What a call of an unknown tool is answered with: the same, word for word, for one the caller may not know."""
        shown = f"{name[:80]!r}"
        problem = self._collisions.get(name)
        if problem is not None:
            return UnknownTool(f"{shown} is not exposed: {problem}", fix="set `prefix` on one of the servers")
        return self._instead(name, f"there is no tool {shown}")

    def removed(self, name: str, server: str) -> UnknownTool:
        """What a call of a tool is answered with that its server no longer has."""
        return self._instead(name, f"{name[:80]!r} was removed by its server, {server}")

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools an agent is shown."""
        return self._exposed

    def all_specs(self) -> tuple[ToolSpec, ...]:
        """Every tool, each with its status and what is wrong with it."""
        return self._all

    def index(self) -> SearchIndex:
        """By which an agent's tools are found. Made when first asked for, which takes a while where they are many."""
        if self._index is None:
            self._index = SearchIndex(self._exposed)
        return self._index

    @property
    def indexed(self) -> bool:
        """Whether `index` has it at hand."""
        return self._index is not None

    def _instead(self, name: str, message: str) -> UnknownTool:
        nearest = nearest_names(name, (spec.name for spec in self._exposed))
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        return UnknownTool(f"{message}{hint}", nearest=nearest, fix="run `bascule list` to see all tools")

    def _status(self, spec: ToolSpec) -> ToolSpec:
        problem = self._collisions.get(spec.name)
        if problem is None or spec.status is ToolStatus.HIDDEN:
            return spec
        return replace(spec, status=ToolStatus.COLLIDING, problem=problem)


def _judged(entry: Entry, alike: Finding | None, *, refuse: bool) -> Entry:
    """The entry with what is found only among others. If findings are refused it has no validator, so that no way to a
    call is left, whatever a rule may say."""
    spec = entry.spec if alike is None else replace(entry.spec, findings=(*entry.spec.findings, alike))
    if refuse and spec.findings and spec.status is ToolStatus.EXPOSED:
        kept_back = replace(spec, status=ToolStatus.QUARANTINED, problem=refusal_of(spec.findings))
        return Entry(kept_back, definition=entry.definition, judgement=entry.judgement)
    return entry if spec is entry.spec else replace(entry, spec=spec)


def _table(entries: Iterable[Entry]) -> tuple[Mapping[str, Entry], Mapping[str, str]]:
    """The entries that have their name alone, and the names that several would have."""
    by_name: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.spec.status is not ToolStatus.HIDDEN:
            by_name[entry.spec.name].append(entry)
    for name, found in by_name.items():
        # What nobody has approved takes no name from a tool that can be used.
        by_name[name] = [entry for entry in found if not entry.judgement.unapproved] or found
    alone = {name: found[0] for name, found in by_name.items() if len(found) == 1}
    collisions = {
        name: collision_problem(name, (str(entry.spec.key) for entry in found))
        for name, found in by_name.items()
        if len(found) > 1
    }
    return alone, collisions
