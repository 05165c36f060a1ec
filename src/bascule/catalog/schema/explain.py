"""Explanation of a failed JSON Schema validation, in a few short sentences.

The library's own explanation grows exponentially for unions inside unions, its yes or no does not. So ever smaller
parts of the value are validated here."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from bascule.catalog.schema.references import References, SchemaRefused
from bascule.catalog.schema.validator import Problem, Validator, answer, compiled, draft_of, registry_of
from bascule.core.json_types import JsonObject, as_array, as_object, is_array, is_object

if TYPE_CHECKING:
    import jsonschema_rs

MAX_PROBLEMS = 5
"""Problems told at once. Whoever made more does well to start with these."""

MISSING = "is missing"
UNEXPECTED = "is not expected"
VAGUE = "does not fit its schema"

_MAX_DEPTH = 8
"""How deep we look. Each level checks the same value once more."""
_MAX_ELEMENTS = 200
_MAX_COMPILED = 100
_MAX_PLACES = 20_000
"""Places compiled in one search: some 40 milliseconds."""
_LONGEST = 60
_HOME = "urn:bascule:schema"
"""What the schema is called while its parts are checked alone."""


def explained(validator: Validator, value: Any) -> list[Problem]:
    """The first few things wrong with a value that does not fit."""
    excess = validator.excess(value)
    if excess:
        return [Problem("", excess)]
    deep = _MAX_DEPTH if validator.spare(value) > 2 * _MAX_DEPTH else 0
    found = _Search(validator).problems(_Spot(validator.schema, "#", ""), value, deep)
    return list(islice(found, MAX_PROBLEMS))


class _Spot(NamedTuple):
    """A place of the schema, the pointer to it, and the path of the value it is held against."""

    place: Any
    pointer: str
    path: str

    def word(self, word: str, *steps: str, path: str = "") -> "_Spot":
        """A place below this one."""
        place: Any = self.place[word]
        for step in steps:
            place = place[int(step)] if is_array(place) else place[step]
        return _Spot(place, "/".join((self.pointer, word, *map(_escaped, steps))), path or self.path)

    def member(self, name: str) -> str:
        shown = name if len(name) <= _LONGEST and name.isprintable() else f"{name[:_LONGEST]!r}…"
        return f"{self.path}.{shown}" if self.path else shown


class _Search:
    """One hunt for what is wrong."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator
        self._references = References(validator.schema)
        self._draft = draft_of(validator.schema, validator.bound)
        self._registry: jsonschema_rs.Registry | None = None
        self._parts: dict[str, jsonschema_rs.Validator] = {}
        self._left = min(_MAX_COMPILED, _MAX_PLACES // validator.bound.places)

    def problems(self, spot: _Spot, value: Any, deep: int) -> Iterator[Problem]:
        """What is wrong with a value that does not fit a spot."""
        spot = self._followed(spot, value, deep)
        if not is_object(spot.place):
            yield Problem(spot.path, UNEXPECTED)
            return
        found = False
        for problem in chain(self._shallow(spot, value, deep), self._deep(spot, value, deep)):
            found = True
            yield problem
        if not found:
            yield Problem(spot.path, VAGUE)

    def _followed(self, spot: _Spot, value: Any, deep: int) -> _Spot:
        """Through references, as long as it is their target that the value does not fit."""
        for _ in range(deep):
            reference = as_object(spot.place).get("$ref")
            if not isinstance(reference, str) or not reference:
                break
            try:
                target = _Spot(self._references.resolve(reference), f"#{reference.partition('#')[2]}", spot.path)
            except SchemaRefused:
                break
            if self._fits(target, value):
                break
            spot = target
        return spot

    def _shallow(self, spot: _Spot, value: Any, deep: int) -> Iterator[Problem]:
        place: JsonObject = spot.place
        wanted = place.get("type")
        if wanted is not None and not self._alone({"type": wanted}, value):
            yield Problem(spot.path, f"must be {_listed(wanted)}, not {kind_of(value)}")
            return
        if is_object(value):
            yield from _wrong_names(spot, value)
        if deep == 0:
            return
        for word, sentence in _SENTENCES.items():
            if word in place and not self._alone({word: place[word]}, value):
                yield Problem(spot.path, sentence.format(_shown(place[word])))

    def _deep(self, spot: _Spot, value: Any, deep: int) -> Iterator[Problem]:
        if deep > 0:
            for part, inner in chain(_members(spot, value), _elements(spot, value), _all_of(spot, value)):
                if not self._fits(part, inner):
                    yield from self.problems(part, inner, deep - 1)
            for word in ("anyOf", "oneOf"):
                yield from self._alternatives(spot, word, value, deep)

    def _alternatives(self, spot: _Spot, word: str, value: Any, deep: int) -> Iterator[Problem]:
        options = [spot.word(word, str(index)) for index in range(len(as_array(spot.place.get(word))))]
        fitting = sum(self._fits(option, value) for option in options)
        if not options or fitting == 1 or (fitting and word == "anyOf"):
            return
        likely = [option for option in options if self._is_likely(option, value)]
        if fitting:
            yield Problem(spot.path, f"fits {fitting} of the alternatives, where only one may fit")
        elif len(likely) == 1:
            yield from self.problems(likely[0], value, deep - 1)
        else:
            yield Problem(spot.path, f"fits none of the {len(options)} alternatives")

    def _is_likely(self, option: _Spot, value: Any) -> bool:
        """Whether an alternative is at least of the value's kind."""
        place = as_object(self._followed(option, value, 3).place)
        return "type" not in place or self._alone({"type": place["type"]}, value)

    def _alone(self, words: JsonObject, value: Any) -> bool:
        return answer(compiled(words, self._validator.bound, draft=self._draft).is_valid, value)

    def _fits(self, spot: _Spot, value: Any) -> bool:
        """Whether a value fits a spot; also when we can afford no more answers."""
        if spot.pointer not in self._parts:
            if self._left == 0:
                return True
            self._left -= 1
            self._parts[spot.pointer] = self._part(spot.pointer)
        return answer(self._parts[spot.pointer].is_valid, value)

    def _part(self, pointer: str) -> "jsonschema_rs.Validator":
        if self._registry is None:
            self._registry = registry_of(self._validator.schema, _HOME, self._draft)
        reference = {"$ref": f"{_HOME}{pointer}"}
        return compiled(reference, self._validator.bound, self._registry, draft=self._draft)


def _wrong_names(spot: _Spot, value: JsonObject) -> Iterator[Problem]:
    place: JsonObject = spot.place
    for name in as_array(place.get("required")):
        if isinstance(name, str) and name not in value:
            yield Problem(spot.member(name), MISSING)
    if place.get("additionalProperties") is False and "patternProperties" not in place:
        for name in value.keys() - as_object(place.get("properties")).keys():
            yield Problem(spot.member(name), UNEXPECTED)


def _members(spot: _Spot, value: Any) -> Iterator[tuple[_Spot, Any]]:
    known = as_object(spot.place.get("properties"))
    rest = is_object(spot.place.get("additionalProperties"))
    for name, inner in as_object(value).items():
        if name in known:
            yield spot.word("properties", name, path=spot.member(name)), inner
        elif rest:
            yield spot.word("additionalProperties", path=spot.member(name)), inner


def _elements(spot: _Spot, value: Any) -> Iterator[tuple[_Spot, Any]]:
    if is_object(spot.place.get("items")):
        for index, inner in enumerate(as_array(value)[:_MAX_ELEMENTS]):
            yield spot.word("items", path=f"{spot.path}[{index}]"), inner


def _all_of(spot: _Spot, value: Any) -> Iterator[tuple[_Spot, Any]]:
    for index in range(len(as_array(spot.place.get("allOf")))):
        yield spot.word("allOf", str(index)), value


_SENTENCES = {
    "enum": "must be one of {}",
    "const": "must be {}",
    "pattern": "does not match {}",
    "minLength": "is shorter than {} characters",
    "maxLength": "is longer than {} characters",
    "minimum": "is less than {}",
    "maximum": "is more than {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "is not a multiple of {}",
    "minItems": "has fewer than {} elements",
    "maxItems": "has more than {} elements",
    "uniqueItems": "has the same element twice",
    "minProperties": "has fewer than {} members",
    "maxProperties": "has more than {} members",
}


def kind_of(value: Any) -> str:
    """JSON's word for what a value is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "array" if is_array(value) else "object" if is_object(value) else type(value).__name__


def _listed(types: Any) -> str:
    return " or ".join(str(kind)[:20] for kind in types[:7]) if is_array(types) else str(types)[:20]


def _shown(value: Any) -> str:
    """A schema's value, short. The schema is the server's, so it may be long."""
    if is_array(value):
        more = ", …" if len(value) > 5 else ""
        return ", ".join(_shown(option) for option in value[:5]) + more
    text = repr(value) if isinstance(value, str | int | float | None) else kind_of(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _escaped(step: str) -> str:
    return quote(step.replace("~", "~0").replace("/", "~1"), safe="~")
