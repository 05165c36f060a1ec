"""Servers of a config file, each as a draft, with notes on the keys that are ignored."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bascule.config.loading.client_formats import OURS, draft_foreign, is_disabled
from bascule.config.loading.entries import BARE, Shape, is_server, sort_keys
from bascule.config.loading.key_table import SERVER_KEYS
from bascule.config.loading.server_draft import Draft
from bascule.config.names import NAME_RULE, fold_name, is_name
from bascule.config.problems import KeyPath, Problems
from bascule.core.json_types import JsonObject, is_object

_PASSED_OVER = {OURS, "inputs", "$schema"}
"""Keys beside other programs' servers that need no word: ours, and what editors keep there."""

MOST_NAMED = 6
"""Ignored keys that are named before the rest are only counted. Some programs keep everything in one file."""


@dataclass(slots=True)
class Listing:
    """What was found under the servers of one file."""

    drafts: list[Draft] = field(default_factory=list[Draft])
    notes: list[str] = field(default_factory=list[str])


def list_drafts(root: JsonObject, shape: Shape, problems: Problems) -> Listing:
    if shape.foreign:
        return _list_foreign(root, shape, problems)
    listing = Listing()
    for name, raw in _entries(root, shape, problems):
        path = (*shape.path, name)
        if not is_name(name):
            problems.add(path, f'a server\'s name must be {NAME_RULE}; "{fold_name(name)}" would do')
        listing.drafts.append(Draft(name, path, sort_keys(SERVER_KEYS, raw, path, problems), foreign=False))
    return listing


def _list_foreign(root: JsonObject, shape: Shape, problems: Problems) -> Listing:
    listing = Listing(notes=list(_ignored(root, shape)))
    taken: dict[str, str] = {}
    for name, raw in _entries(root, shape, problems):
        path: KeyPath = (*shape.path, name)
        if is_disabled(raw, path, problems):
            listing.notes.append(f'"{name}" is left out: the file disables it')
            continue
        draft = draft_foreign(name, raw, path, problems)
        if draft is None:
            continue
        if draft.name in taken:
            problems.add(path, f'would be called {draft.name} here, as "{taken[draft.name]}" is; rename one of them')
        taken[draft.name] = name
        listing.drafts.append(draft)
    return listing


def _entries(root: JsonObject, shape: Shape, problems: Problems) -> Iterator[tuple[str, Any]]:
    if shape == BARE:
        yield from ((name, raw) for name, raw in root.items() if is_server(raw))
        return
    servers = root[str(shape.key)]
    if is_object(servers):
        yield from servers.items()
    elif servers is not None:
        problems.add(shape.path, "must be a mapping of server names to their descriptions")


def _ignored(root: JsonObject, shape: Shape) -> Iterator[str]:
    used = {shape.key} if shape.key else {name for name, raw in root.items() if is_server(raw)}
    ignored = [key for key in root if key not in _PASSED_OVER | used]
    if ignored:
        rest = len(ignored) - MOST_NAMED
        named = ", ".join(ignored[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
        yield f"ignored beside the servers: {named}"
