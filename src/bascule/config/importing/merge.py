"""Merge of servers imported from several programs: selection, names, and duplicates of servers in the config."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bascule.config.editing.add_server import variables_in, why_unusable
from bascule.config.importing.credential_refs import Variables, without_credentials
from bascule.config.importing.read_client_config import Find
from bascule.config.names import MAX_NAME
from bascule.core.json_types import JsonObject, is_array, is_object

_REFERENCE = re.compile(r"\$\{[^}]*\}")


class Fate(StrEnum):
    """What becomes of a find."""

    ADDED = "added"
    SAME = "same"
    """One that is taken is the same server."""
    THERE = "there"
    """The config has it."""
    DISABLED = "disabled"
    """Its own program does not use it."""
    REFUSED = "refused"
    """It cannot be used here."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A find, and what becomes of it."""

    find: Find
    fate: Fate
    name: str
    """What the server is called in the config."""
    entry: JsonObject
    why: str = ""


@dataclass(frozen=True, slots=True)
class Merged:
    """All finds, and the variables that stand for the credentials of those that are added."""

    settled: tuple[Settled, ...]
    variables: Variables

    @property
    def entries(self) -> dict[str, JsonObject]:
        return {each.name: each.entry for each in self.settled if each.fate is Fate.ADDED}


def merge(finds: Iterable[Find], existing: Mapping[str, Any]) -> Merged:
    """In this order: of two that differ, the first keeps the name."""
    every = [*finds]
    named = {name for each in (existing, *(find.entry for find in every)) for name in variables_in(each)}
    merging = _Merging(existing, Variables().reserving(named))
    return Merged(tuple(merging.settle(find) for find in every), merging.variables)


class _Merging:
    def __init__(self, existing: Mapping[str, Any], variables: Variables) -> None:
        self.variables = variables
        self._existing = existing
        self._taken: dict[str, Settled] = {}

    def settle(self, find: Find) -> Settled:
        if find.refused or find.disabled:
            fate = Fate.REFUSED if find.refused else Fate.DISABLED
            return Settled(find, fate, find.name, find.entry, find.refused)
        trial = self.variables.copy()
        entry = without_credentials(find.name, find.entry, trial)
        if refused := why_unusable(find.name, entry):
            return Settled(find, Fate.REFUSED, find.name, entry, refused)
        known = self._known(find, entry)
        return known if known is not None else self._add(find, entry, trial)

    def _known(self, find: Find, entry: JsonObject) -> Settled | None:
        """The same server by the same name, or by the one that it was given for want of that."""
        for name in (find.name, suffixed(find.name, find.file.program.name)):
            if _reach(self._existing.get(name)) == _reach(entry):
                return Settled(find, Fate.THERE, name, entry)
            other = self._taken.get(name)
            if other is not None and _masked(other.entry) == _masked(entry):
                differ = "another credential" if other.find.entry != find.entry else ""
                return Settled(find, Fate.SAME, name, entry, differ)
        return None

    def _add(self, find: Find, entry: JsonObject, variables: Variables) -> Settled:
        name = find.name
        number = 2
        why = ""
        while name in self._existing or name in self._taken:
            why = "the config has another server" if find.name in self._existing else "another server is"
            name = suffixed(find.name, find.file.program.name)
            if name in self._existing or name in self._taken:
                name = suffixed(find.name, f"{find.file.program.name}-{number}")
                number += 1
        self.variables = variables
        self._taken[name] = settled = Settled(find, Fate.ADDED, name, entry, why)
        return settled


def suffixed(name: str, program: str) -> str:
    """The name with its program's behind it, no longer than names may be."""
    return f"{name[: MAX_NAME - len(program) - 1].rstrip('-_')}-{program}"


def _reach(entry: Any) -> Any:
    """How a server is reached, whatever else is said of it."""
    if not is_object(entry):
        return None
    return _masked({key: entry.get(key) or None for key in ("command", "args", "url", "container")})


def _masked(value: Any) -> Any:
    """The same without the names of variables: whose credential it is does not make it another server."""
    if is_object(value):
        return {key: _masked(each) for key, each in value.items()}
    if is_array(value):
        return [_masked(each) for each in value]
    return _REFERENCE.sub("${}", value) if isinstance(value, str) else value
