"""Operator's trust in a server: permissions of its tools, levels that its calls raise, and its accepted statements."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from bascule.config.problems import did_you_mean
from bascule.config.validation import Flaw, items
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity

Trusted = Literal["permissions", "annotations", "labels", "fatal"]
TRUSTED = ("permissions", "annotations", "labels", "fatal")
"""What a server can be believed about."""

RAISED = ("internal", "confidential", "secret")
"""Levels that a call can raise to. The lowest is where everyone begins."""

VOUCHED = ("confidential", "secret")

_CLASSES = tuple(permission.value for permission in Permission)


def level_named(name: str) -> DataSensitivity:
    return DataSensitivity[name.upper()]


def permission_flaws(permissions: Any) -> Iterator[Flaw]:
    """Of the map from tools to one class of effect, or several in a list."""
    for tool, given in _entries("permissions", permissions):
        if isinstance(given, Flaw):
            yield given
            continue
        classes = items(given) if not isinstance(given, str | frozenset) else _classes(given)
        if not classes:
            yield Flaw(("permissions", tool), f"must be one of {', '.join(_CLASSES)}, or several of them in a list")
        for name in classes or ():
            if name not in _CLASSES:
                hint = did_you_mean(name, _CLASSES) if isinstance(name, str) else ""
                yield Flaw(("permissions", tool), f"must be of {', '.join(_CLASSES)}{hint}")


def raises_flaws(raises: Any) -> Iterator[Flaw]:
    """Of the map from tools to the level that calling one raises to."""
    for tool, given in _entries("raises", raises):
        if isinstance(given, Flaw):
            yield given
        elif not isinstance(given, DataSensitivity) and given not in RAISED:
            hint = did_you_mean(str(given), RAISED)
            yield Flaw(("raises", tool), f"must be one of {', '.join(RAISED)}{hint}")
        elif given is DataSensitivity.PUBLIC:
            yield Flaw(("raises", tool), "must be above public, where everyone begins")


def trust_flaws(trust: Any) -> Iterator[Flaw]:
    given = tuple(cast("frozenset[Any]", trust)) if isinstance(trust, frozenset) else items(trust)
    if given is None:
        yield Flaw(("trust",), f"must be a list of {', '.join(TRUSTED)}")
    for index, name in enumerate(given or ()):
        if name not in TRUSTED:
            hint = did_you_mean(str(name), TRUSTED)
            yield Flaw(("trust", index), f"must be one of {', '.join(TRUSTED)}{hint}")


def vouched_flaws(vouched: Any, *, has_twin: bool) -> Iterator[Flaw]:
    if vouched is None:
        return
    if vouched not in {DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET}:
        yield Flaw(("vouched",), f"must be one of {', '.join(VOUCHED)}")
    elif has_twin:
        yield Flaw(("vouched",), "says that the server itself has no way out, so it needs no twin; keep one of the two")


def permission_map(permissions: Mapping[str, Any]) -> Mapping[str, frozenset[Permission]]:
    """The checked map in its final form."""
    return {tool: frozenset(map(Permission, _classes(given))) for tool, given in permissions.items()}


def level_map(raises: Mapping[str, Any]) -> Mapping[str, DataSensitivity]:
    return {tool: given if isinstance(given, DataSensitivity) else level_named(given) for tool, given in raises.items()}


def _classes(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Each entry of a map, with the flaw of its name in place of its value where that is none."""
    if not isinstance(value, Mapping):
        yield "", Flaw((name,), "must map tools to words")
        return
    for tool, given in cast("Mapping[Any, Any]", value).items():
        fits = isinstance(tool, str) and tool.strip()
        yield str(tool), given if fits else Flaw((name, str(tool)), "is no name of a tool")
