"""Upper bound for the time of a JSON Schema validation, computed from the schema alone before it is compiled.

The validator holds the interpreter while it works, so its time must be bounded in advance. It walks a value once, and
at each part of the value it visits the places of the schema that apply there: places joined by `$ref`, `anyOf` and the
like pile up at one part, places below `properties` or `items` go to parts of their own. `visits` bounds the pile. A
reference back to a place on the way (a tree of nodes) is answered from the validator's memory, once for each part, so
these references do not multiply with depth; `arrivals` counts them.

Schemas come here flat: the references that are counted are those that the validator follows."""

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, NamedTuple

import msgspec

from bascule.catalog.schema.references import References, SchemaRefused, refuse_unless_flat
from bascule.catalog.schema.regex_cost import MAX_LENGTH, MAX_TRIES, backtracks, load_of
from bascule.core.json_types import JsonObject, as_array, as_object, is_array, is_object

MAX_SIZE = 512 * 1024
"""Bytes of one schema. Compiling takes some ten milliseconds a megabyte."""

MAX_PLACES = 5000
"""Places a schema may have. Compiling takes two microseconds each."""

MAX_HEIGHT = 100
"""Places on one way down a schema, references followed. The validator uses stack for each."""

MAX_VISITS = 100_000
"""Steps for one part of a value, of some four nanoseconds each. With more, even a small value could take too long."""

MAX_MATCH = 24_000
"""Nanoseconds for one character of text."""

MAX_BUILD = 80_000
"""Steps to compile all regular expressions of a schema: about 20 milliseconds."""

_EACH_BUILD = 100
"""Steps to compile even the smallest regular expression."""
_WHOLE = 8
"""Steps of comparing a number with an integer."""
_FRACTION = 700
"""Steps of comparing a number with a fraction: both are made exact first."""
_MULTIPLE = 4000
"""Steps of `multipleOf` a fraction: an exact division."""
_OPTION = 600
"""Steps of comparing a number with a fraction among the options of an `enum`: both are made exact for each."""
_UNIQUE = 400
"""Steps of `uniqueItems` for each part below the array: hashing, and comparing those made to hash alike."""
_MAX_BITS = 128
"""Longest number in a schema."""


class Bound(msgspec.Struct, frozen=True):
    """What checking costs at most: `visits` steps for each part of a value and `match` nanoseconds for each byte."""

    visits: int
    match: int
    numbers: bool
    """Whether very large and very small numbers make it slower."""
    options: bool
    """Whether all fractions do, since they are compared with integers one by one."""
    recursive: bool
    backtracks: bool
    """Whether a regular expression needs the engine that goes back."""
    tuples: bool
    """Whether `items` is a list somewhere, as it could be before 2020-12."""
    places: int


class _Pile(NamedTuple):
    """What comes together on one way from the top of a value to one of its parts."""

    visits: int
    match: int = 0
    arrivals: int = 0
    height: int = 1


_ONE = _Pile(1)
_ARRIVAL = _Pile(1, 0, 1)
_NONE = _Pile(0, 0, 0, 0)


def bound_of(schema: JsonObject, size: int | None = None) -> Bound | str:
    """The bound of a flat schema, or why it must not be used. `size` is that of its JSON, if that was made already."""
    try:
        size = len(msgspec.json.encode(schema)) if size is None else size
        if size > MAX_SIZE:
            return f"it has {size:,} bytes, and {MAX_SIZE:,} is the most"
        return _bound(schema)
    except SchemaRefused as refused:
        return str(refused)
    except RecursionError:
        return f"it nests deeper than {MAX_HEIGHT} levels"
    except (TypeError, ValueError) as error:
        return f"it cannot be read: {error}"


def match_of(schema: JsonObject, place: Any) -> int:
    """Nanoseconds for each byte of a value checked against one place of a schema that has a bound."""
    return _Walk(schema).pile(place).match


def _bound(schema: JsonObject) -> Bound:
    walk = _Walk(schema)
    whole = walk.pile(schema)
    if walk.hubs:
        whole = _unrolled(schema, walk, whole)
    _refuse_above(whole.visits, MAX_VISITS, "checking against it can take too long: its alternatives multiply")
    _refuse_above(whole.match, MAX_MATCH, "its regular expressions can take too long to match")
    _refuse_above(walk.build, MAX_BUILD, "its regular expressions are too large to compile")
    return Bound(
        visits=whole.visits,
        match=whole.match,
        numbers=walk.numbers,
        options=walk.options,
        recursive=bool(walk.hubs),
        backtracks=walk.backtracks,
        tuples=walk.tuples,
        places=len(walk.places),
    )


def _unrolled(schema: JsonObject, first: "_Walk", whole: _Pile) -> _Pile:
    """The pile of a recursive schema.

    Whichever of the places we come back to (the hubs) the validator compiles first, a way through the schema passes
    each of them at most once before it ends in the validator's memory: one stretch from each hub, leaving it by any of
    its arrivals at the next.
    """
    _refuse_circles(first.places.values(), first.references)
    cut = _Walk(schema, cut=frozenset(first.hubs))
    stretches = [cut.pile_below(hub) for hub in first.hubs.values()]
    ways = prod(1 + stretch.arrivals for stretch in stretches)
    longest = _highest([cut.pile_below(schema), *stretches])
    return _added((whole, _Pile(longest.visits * ways, longest.match * ways)))


def _refuse_circles(places: Iterable[JsonObject], references: References) -> None:
    """A place that comes back to itself at the same part of the value says nothing, and need never end."""
    done: set[int] = set()
    above: set[int] = set()

    def visit(place: Any) -> None:
        key = id(place)
        if not is_object(place) or key in done:
            return
        if key in above:
            raise SchemaRefused("it refers to itself without going deeper into the value")
        above.add(key)
        for inner in _in_place(place, references):
            visit(inner)
        above.remove(key)
        done.add(key)

    for place in places:
        visit(place)


def _refuse_above(value: int, limit: int, reason: str) -> None:
    if value > limit:
        raise SchemaRefused(f"{reason} ({value:,} against {limit:,})" if value < 10**9 else reason)


class _Walk:
    """One pass over a schema from its top, meeting every place once."""

    def __init__(self, root: JsonObject, cut: frozenset[int] = frozenset()) -> None:
        self.references = References(root)
        self.places: dict[int, JsonObject] = {}
        self.hubs: dict[int, JsonObject] = {}
        """Places that were met again below themselves."""
        self.build = 0
        self.numbers = False
        self.options = False
        self.tuples = False
        self.backtracks = False
        self._cut = cut
        self._piles: dict[int, _Pile] = {}
        self._patterns: dict[str, int] = {}

    def pile(self, place: Any) -> _Pile:
        """The pile of a place and all below it."""
        if isinstance(place, bool):
            return _ONE
        if not is_object(place):
            raise SchemaRefused(f"a part of it is not a schema but {place!r:.60}")
        return _ARRIVAL if id(place) in self._cut else self.pile_below(place)

    def pile_below(self, place: JsonObject) -> _Pile:
        key = id(place)
        known = self._piles.get(key)
        if known is not None:
            return known
        if key in self.places:
            self.hubs[key] = place
            return _ARRIVAL
        self.places[key] = place
        if len(self.places) > MAX_PLACES:
            raise SchemaRefused(f"it has more than {MAX_PLACES:,} places")
        pile = _ONE if _PLAIN.issuperset(place) else self._sum(place)
        self._piles[key] = pile
        return pile

    def _sum(self, place: JsonObject) -> _Pile:
        refuse_unless_flat(place)
        here = [self.pile(inner) for inner in _in_place(place, self.references)]
        members = _NONE if _OF_MEMBERS.isdisjoint(place) else self._members(place)
        elements = _NONE if _OF_ELEMENTS.isdisjoint(place) else self._elements(place)
        itself = _Pile(self._steps(place), self._match(place))
        total = _added((itself, *here, _highest((members, elements))))
        if total.height > MAX_HEIGHT:
            raise SchemaRefused(f"it nests deeper than {MAX_HEIGHT} levels")
        return total

    def _members(self, place: JsonObject) -> _Pile:
        """For one member of an object: its own schema or the one for the rest, and every pattern its name may match."""
        own = list(as_object(place.get("properties")).values())
        rest = [place[word] for word in ("additionalProperties", "unevaluatedProperties") if word in place]
        patterned = list(as_object(place.get("patternProperties")).values())
        names = [place["propertyNames"]] if "propertyNames" in place else []
        return _added((_highest(map(self.pile, own + rest)), *map(self.pile, patterned + names)))

    def _elements(self, place: JsonObject) -> _Pile:
        """For one element of an array."""
        items = place.get("items", True)
        self.tuples = self.tuples or is_array(items)
        one_of = [*as_array(place.get("prefixItems")), *(items if is_array(items) else [items])]
        one_of += [place[word] for word in ("additionalItems", "unevaluatedItems") if word in place]
        contains = [place["contains"]] if "contains" in place else []
        return _added((_highest(map(self.pile, one_of)), *map(self.pile, contains)))

    def _steps(self, place: JsonObject) -> int:
        """What the place itself takes, whatever is below it."""
        steps = 1 + len(as_array(place.get("required"))) + len(as_object(place.get("properties")))
        steps += sum(1 + len(as_array(names)) for names in as_object(place.get("dependentRequired")).values())
        steps += self._number_steps(place)
        if place.get("uniqueItems") is True:
            self.numbers = True
            steps += _UNIQUE
        if "unevaluatedProperties" in place or "unevaluatedItems" in place:
            steps += _unevaluated_steps(place, self.references)
        return steps

    def _number_steps(self, place: JsonObject) -> int:
        bounds = [
            place[word] for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if word in place
        ]
        factor = place.get("multipleOf", 1)
        options = as_array(place.get("enum")) + ([place["const"]] if "const" in place else [])
        option_steps = sum(map(_option_steps, options))
        self.options = self.options or option_steps > 0
        steps = option_steps + sum(_FRACTION if isinstance(bound, float) else _WHOLE for bound in bounds)
        if "multipleOf" in place:
            steps += _MULTIPLE if isinstance(factor, float) else _FRACTION
        self.numbers = self.numbers or steps > 0
        for number in (*bounds, factor):
            _refuse_long(number)
        return steps

    def _match(self, place: JsonObject) -> int:
        """Nanoseconds for each byte of a text at this place, or of its members' names."""
        patterns = list(as_object(place.get("patternProperties")))
        if "pattern" in place:
            patterns.append(place["pattern"])
        measured = 2 if "minLength" in place or "maxLength" in place else 0
        decoded = 30 if "contentEncoding" in place or "contentMediaType" in place else 0
        return measured + decoded + sum(map(self._pattern_match, patterns))

    def _pattern_match(self, pattern: Any) -> int:
        if not isinstance(pattern, str) or len(pattern) > MAX_LENGTH:
            raise SchemaRefused(f"a regular expression is not text of at most {MAX_LENGTH:,} characters")
        known = self._patterns.get(pattern)
        if known is None:
            load = load_of(pattern)
            self.build += load.build + _EACH_BUILD
            self.backtracks = self.backtracks or backtracks(pattern)
            known = load.states * MAX_TRIES // 4 + 1000 if backtracks(pattern) else load.states * 5 + 150
            self._patterns[pattern] = known
        return known


_PLAIN = frozenset({"type", "title", "description", "default", "examples", "format", "deprecated"})
"""Words that cost one step together, or nothing. Most places have no others."""
_OF_MEMBERS = frozenset(
    {"properties", "additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
)
_OF_ELEMENTS = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"})
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("not", "if", "then", "else")


def _in_place(place: JsonObject, references: References) -> Iterator[Any]:
    """The places that apply to the same part of the value as this one."""
    for word in _LISTS:
        if word in place:
            yield from as_array(place[word])
    for word in _SINGLES:
        if word in place:
            yield place[word]
    yield from as_object(place.get("dependentSchemas")).values()
    yield from (inner for inner in as_object(place.get("dependencies")).values() if not is_array(inner))
    yield from references.targets(place)


def _applying(place: Any, references: References, above: frozenset[int] = frozenset()) -> Iterator[JsonObject]:
    """Every place that applies where this one does, as often as it does."""
    if not is_object(place):
        return
    if id(place) in above:
        raise SchemaRefused("it refers to itself without going deeper into the value")
    yield place
    for inner in _in_place(place, references):
        yield from _applying(inner, references, above | {id(place)})


def _unevaluated_steps(place: JsonObject, references: References) -> int:
    """`unevaluated…` asks all that applies here once more, and again for each one inside another."""
    applying = 0
    inside = 0
    for inner in _applying(place, references):
        applying += 1
        inside += "unevaluatedProperties" in inner or "unevaluatedItems" in inner
        if applying > 256 or inside > 4:
            raise SchemaRefused("its `unevaluated…` keywords stand over too many alternatives")
    return 40 * applying * 3 ** (inside - 1)


def _option_steps(option: Any) -> int:
    if isinstance(option, bool | str) or option is None:
        return 0
    if isinstance(option, int | float):
        _refuse_long(option)
        return _OPTION if isinstance(option, float) else _WHOLE
    inner = option.values() if is_object(option) else as_array(option)
    return 50 + sum(max(50, _option_steps(part)) for part in inner)


def _refuse_long(number: Any) -> None:
    if isinstance(number, int) and number.bit_length() > _MAX_BITS:
        raise SchemaRefused("it has a number of more than 38 digits")


def _added(piles: Iterable[_Pile]) -> _Pile:
    """Piles that come on top of each other."""
    visits = match = arrivals = height = 0
    for pile in piles:
        visits += pile.visits
        match += pile.match
        arrivals += pile.arrivals
        height = max(height, pile.height)
    return _Pile(min(visits, _ENOUGH), min(match, _ENOUGH), min(arrivals, _ENOUGH), height + 1)


def _highest(piles: Iterable[_Pile]) -> _Pile:
    """Piles at different parts of a value."""
    visits = match = arrivals = height = 0
    for pile in piles:
        visits = max(visits, pile.visits)
        match = max(match, pile.match)
        arrivals = max(arrivals, pile.arrivals)
        height = max(height, pile.height)
    return _Pile(visits, match, arrivals, height)


_ENOUGH = 10**12
"""Far beyond every limit. Sums stop here: doubled a thousand times, they would be a thousand digits long."""
