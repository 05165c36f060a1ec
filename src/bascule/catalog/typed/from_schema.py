"""Reading of a JSON Schema into a shape, with the reasons for everything that the shape cannot express.

A schema is many conditions at once, of which a type can express one or two. The rest widens the shape, is reported as a
reason, and stays with the schema, which validates every value."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from bascule.catalog.schema.cost import Bound
from bascule.catalog.schema.references import References, SchemaRefused
from bascule.catalog.schema.validator import draft_of
from bascule.catalog.typed.names import Names, class_name, field_names
from bascule.catalog.typed.shape import (
    ANYTHING,
    KINDS,
    NOTHING,
    Again,
    Either,
    ListOf,
    MapOf,
    Member,
    Options,
    Shape,
    Struct,
    disjoint,
    either,
    holds_again,
    kind_of,
    narrowed,
    of_kinds,
    size_of,
)
from bascule.core.json_types import JsonObject, as_array, as_object, as_text, is_array, is_object
from bascule.core.text.invisible_chars import escaped

MAX_STRUCTS = 100
"""Dataclasses made of one schema: each takes half a millisecond. Objects beyond are maps."""

MAX_MEMBERS = 1000
"""Fields of all of them together, of some 50 microseconds each."""

MAX_ALTERNATIVES = 64
"""Of one union. Nobody reads more in an editor."""

MAX_DEPTH = 40
"""Places below each other."""

MAX_SIZE = 64
"""Parts of one type, written out. Lists of alternatives of lists could double at every level."""

MAX_NAME = 120
"""Longest name of a class, before it is told apart from others."""

MAX_REASONS = 20
"""Reasons kept: with one it is inexact, and more than these nobody reads."""

_BY_KIND = {
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "minimum": "number",
    "maximum": "number",
    "exclusiveMinimum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
    "minItems": "array",
    "maxItems": "array",
    "uniqueItems": "array",
    "contains": "array",
    "prefixItems": "array",
    "additionalItems": "array",
    "unevaluatedItems": "array",
    "minProperties": "object",
    "maxProperties": "object",
    "patternProperties": "object",
    "propertyNames": "object",
    "dependentRequired": "object",
    "dependentSchemas": "object",
    "dependencies": "object",
    "unevaluatedProperties": "object",
}
"""What no type of Python says, and the kind of value that it is about."""

_MAY_BE_IDLE = frozenset({"minLength", "minItems", "minProperties", "uniqueItems"})
"""With 0 or false, they are no condition."""

_ALWAYS = ("not", "if", "$dynamicRef", "$recursiveRef")
_DECODED = ("contentEncoding", "contentMediaType")
"""Conditions up to draft 7, remarks since."""


_PARAMS = "Params"
_RESULT = "Result"

_SIMPLE = frozenset({"type", "title", "description", "default", "examples", "format", "deprecated"})
"""Most places say nothing else."""


class Read(NamedTuple):
    """What was read of a schema."""

    shape: Shape
    structs: tuple[Struct, ...]
    reasons: tuple[str, ...]
    """What the shape does not say. Without any, it takes exactly what the schema does."""


class _Spot(NamedTuple):
    """Where in a value we are, and what a class here would be named after."""

    path: str
    root: str
    words: tuple[str, ...] = ()
    depth: int = 0

    @property
    def name(self) -> str:
        return f"{self.root}{''.join(map(class_name, self.words))}"[:MAX_NAME]

    def below(self, step: str, word: str) -> "_Spot":
        path = f"{self.path}.{step[:40]}" if self.path and not step.startswith("[") else f"{self.path}{step[:40]}"
        return _Spot(path, self.root, (*self.words, word), self.depth + 1)

    def beside(self, *words: str) -> "_Spot":
        """Another condition on the same value."""
        return _Spot(self.path, self.root, (*self.words, *words), self.depth + 1)

    def at(self, word: str) -> "_Spot":
        """The same, in a part of the schema that has a name."""
        return _Spot(self.path, self.root, (word,), self.depth + 1)


class _Condition(NamedTuple):
    """One thing that a place says of its values, by the word that says it, and the shape that it alone would have."""

    word: str
    shape: Callable[[], Shape]


def read(schema: JsonObject, bound: Bound, tool: str) -> Read:
    """The shape of whatever the schema of a tool's results takes. Classes are named after the tool."""
    reader = _Reader(schema, bound, tool)
    shape = reader.shape(schema, _Spot("", f"{tool}{_RESULT}"))
    return Read(shape, tuple(reader.structs), tuple(reader.reasons))


def read_object(schema: JsonObject, bound: Bound, tool: str) -> Read:
    """The same for the schema of a tool's arguments, which are an object: one struct, whatever it says."""
    name = f"{tool}{_PARAMS}"
    reader = _Reader(schema, bound, tool)
    whole = narrowed(reader.shape(schema, _Spot("", name)), frozenset({"object"}))
    struct = whole if isinstance(whole, Struct) else reader.opened(whole, name)
    return Read(struct, tuple(reader.structs), tuple(reader.reasons))


class _Reader:
    """One pass over one schema, meeting every place once."""

    def __init__(self, schema: JsonObject, bound: Bound, tool: str) -> None:
        self.structs: list[Struct] = []
        self._members = 0
        self.reasons: list[str] = []
        self._roots = (f"{tool}{_PARAMS}", f"{tool}{_RESULT}")
        self._references = References(schema)
        self._old = draft_of(schema, bound) == "Draft7Validator"
        self._shapes: dict[int, Shape] = {}
        self._met: dict[int, Again] = {}
        self._way: list[int] = []
        """The places above, and a 0 for each struct among them."""
        self._names = Names(between="")

    def shape(self, place: Any, spot: _Spot) -> Shape:
        if not is_object(place):
            return NOTHING if place is False else ANYTHING
        if _SIMPLE.issuperset(place):
            return of_kinds(_kinds(place.get("type")))
        key = id(place)
        if key in self._way:
            return self._again(key, spot)
        if key in self._shapes:
            return self._shapes[key]
        if spot.depth > MAX_DEPTH:
            return self._any(spot, f"nests deeper than {MAX_DEPTH} levels")
        self._way.append(key)
        found = self._conjoined(place, spot)
        self._way.pop()
        if size_of(found) > MAX_SIZE:
            found = self._any(spot, "holds too many alternatives inside each other")
        self._shapes[key] = found
        if key in self._met:
            # Written out wherever it is met again: one that holds others like it would multiply.
            self._met[key].shape = self._any(spot, "refers to more than itself") if holds_again(found) else found
        return found

    def opened(self, shape: Shape | None, name: str) -> Struct:
        """What has no named members, or more than one set of them, as a struct without any."""
        if not isinstance(shape, MapOf):
            self._note(_Spot("", name), "has no members that it names in every case")
        inner = shape.inner if isinstance(shape, MapOf) else ANYTHING
        rest = None if inner == NOTHING else inner
        struct = Struct(self._names.take(name), rest=rest, rest_name="additional", rest_said=inner is not ANYTHING)
        self.structs.append(struct)
        return struct

    def _again(self, key: int, spot: _Spot) -> Shape:
        if 0 not in self._way[self._way.index(key) :]:
            return self._any(spot, "refers to itself without an object between")
        return self._met.setdefault(key, Again())

    def _any(self, spot: _Spot, reason: str) -> Shape:
        self._note(spot, reason)
        return ANYTHING

    def _note(self, spot: _Spot, reason: str) -> None:
        told = f"{escaped(spot.path)}: {reason}" if spot.path else reason
        if len(self.reasons) < MAX_REASONS and told not in self.reasons:
            self.reasons.append(told)

    def _conjoined(self, place: JsonObject, spot: _Spot) -> Shape:
        """All conditions of a place hold at once; the shape is that of the one which says most."""
        if self._old and isinstance(place.get("$ref"), str):
            return self._target(place, spot)
        kinds = _kinds(place.get("type"))
        self._note_unsaid(place, kinds, spot)
        conditions = list(self._conditions(place, spot, kinds))
        if not conditions:
            return of_kinds(kinds)
        if len(conditions) > 1:
            words = dict.fromkeys(f"`{condition.word}`" for condition in conditions)
            self._note(spot, f"{' and '.join(words)}, more than one condition at once")
        return self._within(conditions[0].shape(), kinds, spot)

    def _within(self, shape: Shape, kinds: frozenset[str], spot: _Spot) -> Shape:
        found = narrowed(shape, kinds)
        if found is None:
            self._note(spot, "`type` beside what refers to itself")
        return shape if found is None else found

    def _note_unsaid(self, place: JsonObject, kinds: frozenset[str], spot: _Spot) -> None:
        for word in sorted(place.keys() & _BY_KIND.keys()):
            # Whoever takes numbers takes integers, and may take them alone.
            about = kinds & {_BY_KIND[word].replace("number", "integer")}
            if about and not (word in _MAY_BE_IDLE and not place[word]):
                self._note(spot, f"`{word}`")
        for word in (*_ALWAYS, *(_DECODED if self._old and "string" in kinds else ())):
            if word in place:
                self._note(spot, f"`{word}`")
        if is_array(place.get("items")) and "array" in kinds:
            self._note(spot, "`items` one by one")

    def _conditions(self, place: JsonObject, spot: _Spot, kinds: frozenset[str]) -> Iterator[_Condition]:
        """The conditions that a type could say, each with its word, those first that say most."""
        word = _speaks_of_parts(place, kinds)
        parts = _Condition(word, lambda: self._parts(place, spot, kinds))
        for listing in ("const", "enum"):
            if listing in place:
                yield _Condition(listing, partial(self._listed, place, listing, spot))
        if word == "properties":
            yield parts
        if isinstance(place.get("$ref"), str):
            yield _Condition("$ref", lambda: self._target(place, spot))
        yield from self._combinations(place, spot)
        if word and word != "properties":
            yield parts

    def _combinations(self, place: JsonObject, spot: _Spot) -> Iterator[_Condition]:
        for word in ("anyOf", "oneOf"):
            if is_array(place.get(word)):
                yield _Condition(word, partial(self._alternatives, place, word, spot))
        for part in as_array(place.get("allOf")):
            yield _Condition("allOf", partial(self.shape, part, spot.beside("all")))

    def _listed(self, place: JsonObject, word: str, spot: _Spot) -> Shape:
        values = [place["const"]] if word == "const" else as_array(place["enum"])
        said = [(kind_of(value), value) for value in values]
        exact = [(kind, _whole(value)) for kind, value in said if kind in {"string", "integer", "boolean"}]
        rest = frozenset(kind for kind, _ in said) - {"string", "integer", "boolean"}
        if rest - {"null"}:
            self._note(spot, f"`{word}` of other than text and whole numbers")
        return either([Options(tuple(exact)), of_kinds(rest)])

    def _target(self, place: JsonObject, spot: _Spot) -> Shape:
        reference: str = place["$ref"]
        try:
            target = self._references.resolve(reference)
        except SchemaRefused:
            return self._any(spot, "refers to what it does not have")
        step = reference.rpartition("/")[2] if "/" in reference else ""
        return self.shape(target, spot.at(step) if step else spot.beside())

    def _alternatives(self, place: JsonObject, word: str, spot: _Spot) -> Shape:
        parts = as_array(place[word])
        if len(parts) > MAX_ALTERNATIVES:
            return self._any(spot, f"`{word}` of more than {MAX_ALTERNATIVES} alternatives")
        found = [
            self.shape(part, spot.beside(*([f"option{n}"] if len(parts) > 1 else [])))
            for n, part in enumerate(parts, 1)
        ]
        if word == "oneOf" and not _all_apart(found):
            self._note(spot, "only one alternative of `oneOf` may fit")
        whole = either(found)
        if isinstance(whole, Either) and len(whole.options) > MAX_ALTERNATIVES:
            return self._any(spot, f"`{word}` of more than {MAX_ALTERNATIVES} alternatives")
        return whole

    def _parts(self, place: JsonObject, spot: _Spot, kinds: frozenset[str]) -> Shape:
        """Conditions on members hold for objects, those on elements for arrays, and neither for anything else."""
        found = [of_kinds(kinds - {"object", "array"})]
        if "array" in kinds:
            # Beside `prefixItems`, it is about the others.
            items = place.get("items", True) if "prefixItems" not in place else True
            found.insert(0, ListOf(self.shape(items if not is_array(items) else True, spot.below("[]", "item"))))
        if "object" in kinds:
            found.insert(0, self._object(place, spot))
        return either(found)

    def _object(self, place: JsonObject, spot: _Spot) -> Shape:
        members = as_object(place.get("properties"))
        required = {name for name in as_array(place.get("required")) if isinstance(name, str)}
        if not members and not required:
            return MapOf(self._rest(place, spot))
        names = field_names(members.keys() | required, self._roots)
        self._members += len(names)
        if len(self.structs) >= MAX_STRUCTS or self._members > MAX_MEMBERS:
            self._note(spot, f"more than {MAX_STRUCTS} kinds of objects, or {MAX_MEMBERS} members of them")
            return MapOf(ANYTHING)
        struct = Struct(self._names.take(spot.name), description=as_text(place.get("description")) or "")
        self.structs.append(struct)
        self._way.append(0)
        rest = self._rest(place, spot)
        struct.members = tuple(
            Member(key, names[key], self._member(members, key, rest, spot), key in required, _words(members.get(key)))
            for key in sorted(names, key=lambda key: (key not in required, key))
        )
        self._way.pop()
        struct.rest = None if rest == NOTHING else rest
        struct.rest_name = Names(names.values()).take("additional")
        struct.rest_said = "additionalProperties" in place
        return struct

    def _member(self, members: JsonObject, key: str, rest: Shape, spot: _Spot) -> Shape:
        return self.shape(members[key], spot.below(key, key)) if key in members else rest

    def _rest(self, place: JsonObject, spot: _Spot) -> Shape:
        """What members without a name of their own are. Those that match a pattern are told so by the schema alone."""
        if "patternProperties" in place:
            return ANYTHING
        return self.shape(place.get("additionalProperties", True), spot.below("[]", "value"))


def _speaks_of_parts(place: JsonObject, kinds: frozenset[str]) -> str:
    """The first word that is about the members of an object or the elements of an array, if there is one."""
    if "object" in kinds:
        for word in ("properties", "required"):
            if place.get(word):
                return word
        if place.get("additionalProperties", True) not in (True, {}):
            return "additionalProperties"
    return "items" if "array" in kinds and place.get("items", True) not in (True, {}) else ""


def _kinds(wanted: Any) -> frozenset[str]:
    """The kinds that a `type` names."""
    if wanted is None:
        return KINDS
    named = frozenset([wanted] if isinstance(wanted, str) else (k for k in as_array(wanted) if isinstance(k, str)))
    return named | {"integer"} if "number" in named else named


def _all_apart(shapes: list[Shape]) -> bool:
    return all(disjoint(one, other) for at, one in enumerate(shapes) for other in shapes[:at])


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def _words(place: Any) -> str:
    return as_text(as_object(place).get("description")) or ""
