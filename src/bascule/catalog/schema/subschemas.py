"""Subschemas: the places in a JSON Schema that hold other schemas. Anything else, as in `enum` or under an unknown
keyword, is a plain value."""

from collections.abc import Callable, Iterator
from typing import Any

from bascule.core.json_types import JsonObject, is_array, is_object

_ONE = frozenset(
    {"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
_LISTED = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})
_ALL = _ONE | _LISTED | _NAMED


def parts_of(place: JsonObject) -> Iterator[Any]:
    """The schemas right below one."""
    for word in _ALL.intersection(place):
        value = place[word]
        if word in _LISTED and is_array(value):
            yield from value
        elif word in _NAMED and is_object(value):
            yield from value.values()
        elif word in _ONE:
            yield value


def with_parts(place: JsonObject, make: Callable[[Any], Any]) -> JsonObject:
    """The same schema, with others in the places of those right below it."""
    made = dict(place)
    # In the order in which they stand, so that what is made of one schema is made so every time.
    for word in [word for word in place if word in _ALL]:
        value = place[word]
        if word in _LISTED and is_array(value):
            made[word] = [make(part) for part in value]
        elif word in _NAMED and is_object(value):
            made[word] = {name: make(part) for name, part in value.items()}
        elif word in _ONE:
            made[word] = make(value)
    return made


def is_part(place: Any, steps: list[str]) -> bool:
    """Whether steps down from a schema lead to a schema."""
    if not steps:
        return True
    if not is_object(place) or steps[0] not in place:
        return False
    word, value = steps[0], place[steps[0]]
    if (word in _LISTED and is_array(value)) or (word in _NAMED and is_object(value)):
        return len(steps) == 2
    return word in _ONE and len(steps) == 1
