"""Habits of older drafts and of OpenAPI that take several words of a schema to understand."""

from bascule.catalog.schema.repair__schema_place import Place
from bascule.core.json_types import JsonObject, is_array, is_object


def required_inside(schema: JsonObject, place: Place) -> JsonObject:
    """Draft 3 said `required: true` inside of each property."""
    members = schema.get("properties")
    if not is_object(members):
        return schema
    flagged = {n: each for n, each in members.items() if is_object(each) and isinstance(each.get("required"), bool)}
    if not flagged:
        return schema
    names = [name for name, each in flagged.items() if each["required"]]
    for name in flagged:
        place.below("properties").below(name).note("`required` stands inside of it; it is read as the object's")
    plain = {n: {w: v for w, v in each.items() if w != "required"} for n, each in flagged.items()}
    listed = schema.get("required")
    return {
        **schema,
        "properties": {**members, **plain},
        "required": list(dict.fromkeys([*(listed if is_array(listed) else ()), *names])),
    }


def without_flag(schema: JsonObject, place: Place) -> JsonObject:
    if not isinstance(schema.get("required"), bool):
        return schema
    place.note("`required` is neither a list of names nor inside of a property, and is left out")
    return {word: value for word, value in schema.items() if word != "required"}


def exclusive_flags(schema: JsonObject, place: Place) -> JsonObject:
    """Draft 4 said whether a limit is itself allowed by a flag beside it."""
    for word, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = schema.get(word)
        if not isinstance(flag, bool):
            continue
        place.note(f"`{word}` is a flag, as it was in draft 4")
        rest = {w: v for w, v in schema.items() if w != word and not (flag and w == limit)}
        schema = {**rest, word: schema[limit]} if flag and limit in schema else rest
    return schema


def nullable(schema: JsonObject, place: Place) -> JsonObject:
    """OpenAPI's word for a value that may also be null. It counts only beside a type."""
    kind = schema.get("type")
    kinds = kind if is_array(kind) else [kind]
    if schema.get("nullable") is not True or kind is None or "null" in kinds:
        return schema
    place.note("it is `nullable`; null is passed on too")
    return {**schema, "type": [*kinds, "null"]}


HABITS = (exclusive_flags, nullable, required_inside)
"""Rules that look at several words of a place at once."""
OF_HABITS = frozenset({"exclusiveMinimum", "exclusiveMaximum", "nullable", "properties"})
