"""Presets for the preview of a long result: the built-in ones, and those of the operator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, cast

from bascule.config.names import NAME_RULE, is_name
from bascule.config.problems import did_you_mean
from bascule.config.validation import Flaw, refuse

CHARACTERS_LEAST = 1000
"""Fewest characters of a preview: what it is a part of, and where the whole lies, must fit twice."""

CHARACTERS_MOST = 1_000_000
COUNT_MOST = 100_000
"""Above these it is no longer a preview."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How much of a result is shown. What has more characters is saved, and a preview takes its place."""

    characters: int = 5000
    """Of the whole preview, whatever else is said here."""
    head_rows: int = 20
    tail_rows: int = 10
    """Of tables, CSV, and lists of objects."""
    head_lines: int = 50
    tail_lines: int = 20
    head_items: int = 10
    tail_items: int = 5
    """Of other lists."""
    keys: int = 20
    """Of objects."""

    def __post_init__(self) -> None:
        refuse("Preset", preset_flaws({field.name: getattr(self, field.name) for field in fields(self)}))


_FIELDS = tuple(field.name for field in fields(Preset))
_LEAST = {"characters": CHARACTERS_LEAST, "keys": 1}
_MOST = {"characters": CHARACTERS_MOST}


def preset_flaws(given: Any) -> Iterator[Flaw]:
    """Of what one preset says, by its fields."""
    if not isinstance(given, Mapping):
        yield Flaw((), f"must be a mapping of numbers, of {', '.join(_FIELDS)}")
        return
    for name, value in cast("Mapping[Any, Any]", given).items():
        if name not in _FIELDS:
            yield Flaw((str(name),), f"unknown key{did_you_mean(str(name), _FIELDS)}")
            continue
        least, most = _LEAST.get(name, 0), _MOST.get(name, COUNT_MOST)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            yield Flaw((name,), f"must be a whole number from {least} to {most}")


def presets_flaws(given: Any) -> Iterator[Flaw]:
    """Of presets by their names, each as it is, or as what it says."""
    if not isinstance(given, Mapping):
        yield Flaw(("presets",), "must map names to presets")
        return
    for name, preset in cast("Mapping[Any, Any]", given).items():
        if not isinstance(name, str) or not is_name(name):
            yield Flaw(("presets", str(name)), f"the name of a preset must be {NAME_RULE}")
        elif not isinstance(preset, Preset):
            yield from (Flaw(("presets", name, *flaw.path), flaw.text) for flaw in preset_flaws(preset))


def limit_flaws(limit: Any, presets: Mapping[str, Preset]) -> Iterator[Flaw]:
    """Of the name that a server's `limit` gives. It stays unsaid, as it may have come from a variable."""
    if limit is not None and limit not in presets:
        hint = did_you_mean(str(limit), presets)
        yield Flaw(("limit",), f"must be the name of a preset: one of {', '.join(presets)}{hint}")


def preset_map(given: Mapping[str, Any]) -> Mapping[str, Preset]:
    """The checked presets with those that are always there. One of the same name takes its place."""
    own = {name: each if isinstance(each, Preset) else Preset(**each) for name, each in given.items()}
    return MappingProxyType({**PRESETS, **own})


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "default": Preset(),
        "sql_query": Preset(characters=2000, head_rows=30, tail_rows=10),
        "log_search": Preset(characters=10_000),
    }
)
"""Those that are always there."""
