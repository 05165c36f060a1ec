"""Catalogued tools of one server, their difference from the previous listing, and the names of removed tools, so that a
call of one gets a better answer than that of an unknown tool."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from bascule.catalog.digest import listing_digest, tool_digest
from bascule.catalog.entry import Entry, make_entry
from bascule.catalog.judgement import Judge, accept
from bascule.catalog.naming import exposed_names
from bascule.catalog.pages import Pages
from bascule.catalog.screening.findings import screened
from bascule.core.finding import Finding
from bascule.core.tool import ToolKey, ToolStatus


@dataclass(frozen=True, slots=True)
class ListingDiff:
    """Tools by the server's own names. All empty if nothing changed."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True, eq=False)
class ServerListing:
    """What one server offers. An entry is the same object for as long as its tool does not change."""

    server: str
    prefix: str
    entries: Mapping[str, Entry]
    """By the server's own names."""
    digest: str
    problems: tuple[str, ...] = ()
    """Tools that cannot be used, and why."""
    notes: tuple[str, ...] = ()
    """What was put right in its tools' definitions."""
    instructions: str = ""
    findings: tuple[Finding, ...] = ()
    """What its instructions hide, or say to the model against the user."""
    set_aside: tuple[str, ...] = ()
    """Those of the problems that come from definitions which are not in the catalog at all."""
    last_seen: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The fingerprint of each definition when it last came, so that the next listing is compared and not read."""


def catalog_listing(
    server: str,
    prefix: str,
    pages: Pages,
    previous: ServerListing | None = None,
    judge: Judge = accept,
    instructions: str = "",
) -> tuple[ServerListing, ListingDiff]:
    """The server's listing now, and how its tools differ from the previous one's.

    It is the previous one itself if nothing changed at all, else one in which unchanged tools keep their entries.
    `previous` must have been made with the same `prefix` and `judge`: give None when the server's config changed.
    """
    seen = pages.fingerprints
    same_terms = previous is not None and previous.set_aside == pages.problems and previous.instructions == instructions
    if previous is not None and same_terms and previous.last_seen == seen:
        return previous, ListingDiff()
    entries = _entries(server, prefix, pages, previous, judge)
    diff = _difference({} if previous is None else previous.entries, entries)
    if previous is not None and same_terms and not diff:
        previous.last_seen.update(seen)
        return previous, diff
    digests = {name: entry.spec.digest for name, entry in entries.items()}
    listing = ServerListing(
        server=server,
        prefix=prefix,
        entries=entries,
        digest=listing_digest(digests, instructions),
        problems=pages.problems + _unusable(entries),
        notes=tuple(f"{name}: {note}" for name, entry in entries.items() for note in entry.spec.notes),
        instructions=instructions,
        findings=screened([("instructions", instructions)]),
        set_aside=pages.problems,
        last_seen=seen,
    )
    return listing, diff


def rejudged(listing: ServerListing, judge: Judge) -> ServerListing:
    """The same listing under another judge: itself if that changes nothing, else one in which the tools that are judged
    as before keep their entries."""
    entries = {tool: _rejudged(entry, judge) for tool, entry in listing.entries.items()}
    if all(entries[tool] is entry for tool, entry in listing.entries.items()):
        return listing
    return replace(listing, entries=entries, problems=listing.set_aside + _unusable(entries))


def _rejudged(entry: Entry, judge: Judge) -> Entry:
    spec = entry.spec
    if judge(entry.definition, spec.digest) == entry.judgement:
        return entry
    return make_entry(entry.definition, spec.key, spec.name, judge)


def exposed_tools(listing: ServerListing, *, refuse: bool) -> int:
    """How many tools agents are shown. `refuse` says whether those with findings are kept from them."""
    specs = (entry.spec for entry in listing.entries.values())
    return sum(spec.status is ToolStatus.EXPOSED and not (refuse and spec.findings) for spec in specs)


def _unusable(entries: Mapping[str, Entry]) -> tuple[str, ...]:
    found = ((name, entry.spec) for name, entry in entries.items())
    return tuple(f"{name}: {spec.problem}" for name, spec in found if spec.status is ToolStatus.UNUSABLE)


def _entries(server: str, prefix: str, pages: Pages, previous: ServerListing | None, judge: Judge) -> dict[str, Entry]:
    kept = {} if previous is None else _kept(previous, pages)
    entries: dict[str, Entry] = {}
    for tool, name in exposed_names(server, prefix, pages.definitions).items():
        entry = kept.get(tool)
        # Another tool that came or went may have changed what this one is called.
        if entry is None or entry.spec.name != name:
            entry = make_entry(pages.definitions[tool], ToolKey(server, tool), name, judge)
        entries[tool] = entry
    return entries


def _kept(previous: ServerListing, pages: Pages) -> dict[str, Entry]:
    """The entries that are still true. Another order of keys is no change."""
    return {
        tool: entry
        for tool, entry in previous.entries.items()
        if tool in pages.definitions
        and (
            previous.last_seen[tool] == pages.fingerprints[tool]
            or entry.spec.digest == tool_digest(pages.definitions[tool])
        )
    }


def _difference(before: Mapping[str, Entry], now: Mapping[str, Entry]) -> ListingDiff:
    return ListingDiff(
        added=tuple(sorted(now.keys() - before.keys())),
        changed=tuple(sorted(name for name in now.keys() & before.keys() if now[name] is not before[name])),
        removed=tuple(sorted(before.keys() - now.keys())),
    )


MOST_REMOVED = 1000
"""Names kept for one server. One that renames its tools again and again must not fill memory; the oldest go first."""


class Removed:
    """What one server has removed of what agents were shown, by exposed name."""

    __slots__ = ("_tools",)

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._tools)

    def tool(self, name: str) -> str | None:
        """The server's own name for the tool that had this exposed name."""
        return self._tools.get(name)

    def follow(self, before: Mapping[str, Entry], now: Mapping[str, Entry], *, refuse: bool) -> None:
        """Take over what a new listing lacks, and forget what it has again.

        `refuse` says whether tools with findings are kept from agents: of those, as of hidden ones, nobody is told that
        they were there.
        """
        gone = (entry.spec for tool, entry in before.items() if tool not in now)
        shown = (spec for spec in gone if spec.status is ToolStatus.EXPOSED and not (refuse and spec.findings))
        self._forget(name for name, tool in self._tools.items() if tool in now)
        self._tools.update({spec.name: spec.key.tool for spec in shown})
        self._forget(islice(self._tools, max(0, len(self._tools) - MOST_REMOVED)))

    def _forget(self, names: Iterable[str]) -> None:
        for name in [*names]:
            del self._tools[name]
