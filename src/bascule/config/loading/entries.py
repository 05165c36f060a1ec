"""Entries of a config file, sorted by key, each with its value and place; unknown and unavailable keys are reported.
Also the layouts of a file: the key that holds the servers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bascule.config.loading.key_table import Key, below, siblings
from bascule.config.loading.value_parsers import Report, read_value
from bascule.config.problems import KeyPath, Problems, did_you_mean
from bascule.config.urls import NOT_AVAILABLE
from bascule.config.variables import Missing, fill
from bascule.core.json_types import JsonObject, is_object


@dataclass(frozen=True, slots=True)
class Given:
    """A value for a key, and where it stands in the file."""

    value: Any
    path: KeyPath


Entry = dict[str, Given]
"""What was given for each key, by the key's dotted name."""


def sort_keys(keys: dict[str, Key], raw: Any, path: KeyPath, problems: Problems) -> Entry:
    """Take a mapping apart by the table of keys."""
    entry: Entry = {}
    _sort(keys, raw, ("", path), entry, problems)
    return entry


def _sort(keys: dict[str, Key], raw: Any, at: tuple[str, KeyPath], entry: Entry, problems: Problems) -> None:
    prefix, path = at
    if not is_object(raw):
        problems.add(path, "must be a mapping of keys to values")
        return
    for word, value in raw.items():
        name, place = prefix + word, (*path, word)
        inner = below(keys, name)
        if "." in word or (name not in keys and not inner):
            problems.add(place, f"unknown key{did_you_mean(word, siblings(keys, prefix))}")
        elif value is None:
            continue
        elif not _is_available(keys.get(name), inner):
            problems.add(place, f"{name} {NOT_AVAILABLE}; remove it")
        elif inner and (name not in keys or is_object(value)):
            if name in keys:
                # That the table stands there says something, also if nothing stands in it.
                entry[name] = Given(None, place)
            _sort(keys, value, (f"{name}.", place), entry, problems)
        else:
            entry[name] = Given(value, place)


def _is_available(key: Key | None, inner: list[Key]) -> bool:
    return any(each.available for each in ([key, *inner] if key else inner))


def fill_entry(entry: Entry, environ: Mapping[str, str]) -> tuple[Entry, list[Missing]]:
    """The same entry with its variables put in, and those that are not set."""
    missing: list[Missing] = []
    filled = {name: Given(fill(at.value, environ, at.path, missing), at.path) for name, at in entry.items()}
    return filled, missing


def read_values(keys: dict[str, Key], entry: Entry, problems: Problems) -> dict[str, Any]:
    """Every key that this version has, in its final type: as given, or its default."""
    values: dict[str, Any] = {}
    for name, key in keys.items():
        if key.available:
            given = entry.get(name, Given(None, ()))
            values[name] = read_value(key, given.value, _reporter(problems, given.path))
    return values


def _reporter(problems: Problems, path: KeyPath) -> Report:
    return lambda inner, text: problems.add((*path, *inner), text)


_REACH = {"command", "url", "httpUrl", "serverUrl"}
"""Keys that only an entry of a server has."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One layout of a config file. `key` holds the servers; without one they stand at the root."""

    key: str | None
    foreign: bool

    @property
    def path(self) -> KeyPath:
        return () if self.key is None else (self.key,)


SHAPES = (Shape("mcp_servers", foreign=False), Shape("mcpServers", foreign=True), Shape("servers", foreign=True))
BARE = Shape(None, foreign=True)


def shape_of(root: JsonObject) -> Shape | None:
    """The layout of a file; nothing if no servers can be found in it."""
    for shape in SHAPES:
        if shape.key in root and not is_server(root[shape.key]):
            return shape
    return BARE if any(is_server(value) for value in root.values()) else None


def is_server(value: Any) -> bool:
    """Whether this is the description of one server, and not a mapping of several."""
    return is_object(value) and any(isinstance(value.get(key), str) for key in _REACH)
