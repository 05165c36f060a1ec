"""Tools whose names pass for another tool's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from bascule.catalog.screening.confusables import skeleton
from bascule.core.finding import Finding, FindingKind
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus


def lookalikes(specs: Iterable[ToolSpec]) -> dict[ToolKey, Finding]:
    """The tools with such a name, each with what it is like. Of two, it is the one in disguise."""
    seen = [spec for spec in specs if spec.status is not ToolStatus.HIDDEN]
    found = _alike({spec.key: spec.name for spec in seen})
    # An exposed name is ASCII. What a disguise is made of shows in the server's own.
    if not all(spec.key.tool.isascii() for spec in seen):
        own = _alike({spec.key: spec.key.tool for spec in seen})
        found |= {key: finding for key, finding in own.items() if not key.tool.isascii()}
    return found


def _alike(names: Mapping[ToolKey, str]) -> dict[ToolKey, Finding]:
    groups: dict[str, list[ToolKey]] = defaultdict(list)
    for key, name in names.items():
        groups[skeleton(name)].append(key)
    return {
        key: Finding(FindingKind.LOOKALIKE, "name", f"{names[key]!a} looks like {other}")
        for shape, keys in groups.items()
        if len(keys) > 1
        for key, other in _disguised(shape, keys, names)
    }


def _disguised(shape: str, keys: list[ToolKey], names: Mapping[ToolKey, str]) -> Iterable[tuple[ToolKey, ToolKey]]:
    """Those that are not simply the shape itself, each with one of another name. Upper case is no disguise."""
    by_name = {names[key].lower(): key for key in keys}
    for key in keys:
        name = names[key].lower()
        if name != shape and len(by_name) > 1:
            yield key, next(other for known, other in by_name.items() if known != name)
