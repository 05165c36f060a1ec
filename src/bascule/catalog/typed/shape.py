"""Shape: the values that a JSON Schema allows, as far as Python's types can express them. Never narrower than its
schema."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from bascule.core.json_types import is_array, is_object

KINDS = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})
"""Every kind of JSON value. Who takes a number takes an integer."""

SCALARS = ("string", "integer", "number", "boolean", "null")


@dataclass(frozen=True, slots=True)
class Anything:
    """Every value."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value at all."""


@dataclass(frozen=True, slots=True)
class Plain:
    """All texts, all numbers, and so on."""

    kind: str


@dataclass(frozen=True, slots=True)
class Options:
    """A few values. Python holds 1 and True for the same, so each stands there with its kind."""

    values: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array."""

    inner: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose members have no names of their own."""

    inner: "Shape"


@dataclass(frozen=True, slots=True)
class Either:
    """Any of several."""

    options: tuple["Shape", ...]


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object: its name in JSON, and the one it has in Python."""

    key: str
    name: str
    shape: "Shape"
    required: bool
    description: str = ""


@dataclass(slots=True, eq=False)
class Struct:
    """An object with named members: what becomes a dataclass. It is known before its members are, since they may lead
    back to it."""

    name: str
    members: tuple[Member, ...] = ()
    rest: "Shape | None" = None
    """What members beyond those may be; None if there must be none."""
    rest_name: str = ""
    """The field that holds them."""
    rest_said: bool = False
    """Whether the schema speaks of them."""
    description: str = ""


@dataclass(slots=True, eq=False)
class Again:
    """A shape that was met again inside itself."""

    shape: "Shape | None" = None


Shape = Anything | Nothing | Plain | Options | ListOf | MapOf | Either | Struct | Again

_KINDS: dict[type, frozenset[str]] = {
    Nothing: frozenset[str](),
    ListOf: frozenset({"array"}),
    MapOf: frozenset({"object"}),
    Struct: frozenset({"object"}),
}

ANYTHING = Anything()
NOTHING = Nothing()


def kind_of(value: Any) -> str:
    """The kind of a JSON value. A fraction that is whole is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    return "array" if is_array(value) else "object" if is_object(value) else ""


@lru_cache(256)
def of_kinds(kinds: frozenset[str]) -> Shape:
    """All values of some kinds."""
    if kinds == KINDS:
        return ANYTHING
    plain = [Plain(kind) for kind in SCALARS if kind in kinds and not (kind == "integer" and "number" in kinds)]
    lists = [ListOf(ANYTHING)] if "array" in kinds else []
    maps = [MapOf(ANYTHING)] if "object" in kinds else []
    return either([*maps, *lists, *plain])


def either(shapes: Iterable[Shape]) -> Shape:
    """Any of some shapes, each once, without those that another has in it."""
    flat = dict.fromkeys(chain.from_iterable(s.options if isinstance(s, Either) else (s,) for s in shapes))
    if ANYTHING in flat:
        return ANYTHING
    whole = frozenset(chain.from_iterable(kinds_in(shape) for shape in flat if isinstance(shape, Plain)))
    values = dict.fromkeys(chain.from_iterable(shape.values for shape in flat if isinstance(shape, Options)))
    left: list[Shape] = [shape for shape in flat if not isinstance(shape, Options | Nothing)]
    if Plain("number") in flat and Plain("integer") in flat:
        left.remove(Plain("integer"))
    options = tuple((kind, value) for kind, value in values if kind not in whole)
    left += [Options(options)] if options else []
    return Either(tuple(left)) if len(left) > 1 else left[0] if left else NOTHING


def narrowed(shape: Shape, kinds: frozenset[str]) -> Shape | None:
    """What of a shape is of some kinds; None where that cannot be told yet."""
    if kinds_in(shape) <= kinds:
        return shape
    match shape:
        case Anything():
            return of_kinds(kinds)
        case Options(values=values):
            return either([Options(tuple((kind, value) for kind, value in values if kind in kinds))])
        case Either(options=options):
            parts = [narrowed(option, kinds) for option in options]
            return None if None in parts else either(part for part in parts if part is not None)
        case Again():
            return None
        case _:
            return Plain("integer") if shape == Plain("number") and "integer" in kinds else NOTHING


def kinds_in(shape: Shape) -> frozenset[str]:
    """The kinds of the values of a shape."""
    match shape:
        case Plain(kind=kind):
            return frozenset({"number", "integer"} if kind == "number" else {kind})
        case Options(values=values):
            return frozenset(kind for kind, _ in values)
        case Either(options=options):
            return frozenset(chain.from_iterable(map(kinds_in, options)))
        case _:
            return _KINDS.get(type(shape), KINDS)


def size_of(shape: Shape) -> int:
    """The parts of a shape, if it is written out. A struct is written elsewhere."""
    match shape:
        case ListOf(inner=inner) | MapOf(inner=inner):
            return 1 + size_of(inner)
        case Either(options=options):
            return sum(map(size_of, options))
        case _:
            return 1


def holds_again(shape: Shape) -> bool:
    """Whether a shape, written out, leads back to one above it."""
    match shape:
        case ListOf(inner=inner) | MapOf(inner=inner):
            return holds_again(inner)
        case Either(options=options):
            return any(map(holds_again, options))
        case _:
            return isinstance(shape, Again)


def disjoint(one: Shape, other: Shape, *, deep: bool = True) -> bool:
    """Whether surely no value is of both shapes. Members of objects are compared only if `deep`, and theirs never: it
    is the tag of an alternative that is looked for."""
    if not kinds_in(one) & kinds_in(other):
        return True
    match one, other:
        case Either(options=options), shape:
            return all(disjoint(option, shape, deep=deep) for option in options)
        case shape, Either(options=options):
            return all(disjoint(option, shape, deep=deep) for option in options)
        case Options(values=some), Options(values=others):
            return not set(some) & set(others)
        case Struct(), Struct():
            return deep and (_lacks(one, other) or _lacks(other, one))
        case _:
            return False


def _lacks(one: Struct, other: Struct) -> bool:
    """Whether one must not have, or only as something else, what the other must have."""
    own = {member.key: member.shape for member in one.members}
    rest = one.rest if one.rest is not None else NOTHING
    return any(
        disjoint(own.get(member.key, rest), member.shape, deep=False) for member in other.members if member.required
    )
