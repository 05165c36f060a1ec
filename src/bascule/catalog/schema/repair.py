"""Repair of sloppy JSON Schemas, with the habits of older drafts and of OpenAPI; an unclear keyword makes the schema
unusable. Nothing is changed in place, since the digest is over the schema as the server sent it."""

from collections.abc import Callable
from typing import Any

from bascule.catalog.digest import canonical_json
from bascule.core.json_types import JsonObject, is_array, is_object


class Unmendable(Exception):
    """Why nobody can tell what a schema means. Never leaves the catalog."""


class Place:
    """One place of a schema while it is put right: where it is, and what there is to tell of it."""

    __slots__ = ("_notes", "above", "step")

    def __init__(self, notes: list[str], above: "Place | None" = None, step: str = "") -> None:
        self._notes = notes
        self.above = above
        self.step = step

    def below(self, step: str) -> "Place":
        return Place(self._notes, self, step)

    def note(self, text: str) -> None:
        self._notes.append(self._told(text))

    def unmendable(self, text: str) -> Unmendable:
        return Unmendable(self._told(text))

    def _told(self, text: str) -> str:
        steps: list[str] = []
        place: Place | None = self
        while place is not None and place.step:
            steps.append(place.step)
            place = place.above
        return f"{'.'.join(reversed(steps))}: {text}" if steps else text


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

MAX_NOTES = 12
"""Notes of one schema. Generated schemas repeat one habit a hundred times."""

TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

_SAME_TYPE = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "list": "array",
    "none": "null",
}
"""What other languages call the types."""

_FLAGS = {"true": True, "false": False}


class _Gone:
    """Stands for the value of a word that says nothing and is left out."""


_GONE = _Gone()


Rule = Callable[[Any, str, Place], Any]
"""Gives a word's value back, or what was meant by it, or `_GONE`."""


def mended_schema(schema: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """The schema as it was meant (itself, if nothing was wrong), and what was put right. Raises `Unmendable`."""
    notes: list[str] = []
    try:
        mended = without_flag(_mended(schema, Place(notes)), Place(notes))
    except RecursionError:
        raise Unmendable("it nests too deep to be read") from None
    more = len(notes) - MAX_NOTES
    return mended, (*notes[:MAX_NOTES], f"and {more} more such notes") if more > 0 else tuple(notes)


def _mended(schema: JsonObject, place: Place) -> JsonObject:
    changed: JsonObject = {}
    for word, value in schema.items():
        rule = RULES.get(word)
        if rule is None:
            continue
        if value is None and word not in _MAY_BE_NULL:
            place.note(f"`{word}` is null, and is left out")
            changed[word] = _GONE
            continue
        meant = rule(value, word, place)
        if meant is not value:
            changed[word] = meant
    mended = {w: v for w, v in {**schema, **changed}.items() if v is not _GONE} if changed else schema
    if not OF_HABITS.isdisjoint(mended):
        for habit in HABITS:
            mended = habit(mended, place)
    return mended


def _is_plain(schema: JsonObject) -> bool:
    """Whether a schema says no more than its type and what it is for, as most properties do. Spares them the rules."""
    for word, value in schema.items():
        if not isinstance(value, str) or (word not in _TEXTS and (word != "type" or value not in TYPES)):
            return False
    return True


def _text(value: Any, word: str, place: Place) -> Any:
    if isinstance(value, str):
        return value
    place.note(f"`{word}` is not text, and is left out")
    return _GONE


def _constraint(value: Any, word: str, place: Place) -> Any:
    if isinstance(value, str):
        return value
    raise place.unmendable(f"`{word}` is not text but {value!r:.40}")


def _annotation_flag(value: Any, word: str, place: Place) -> Any:
    if isinstance(value, bool):
        return value
    place.note(f"`{word}` is neither true nor false, and is left out")
    return _GONE


def _flag(value: Any, word: str, place: Place) -> Any:
    if isinstance(value, bool):
        return value
    meant = _FLAGS.get(value.strip().lower()) if isinstance(value, str) else None
    if meant is None:
        raise place.unmendable(f"`{word}` is neither true nor false but {value!r:.40}")
    place.note(f"`{word}` is text; it is read as {str(meant).lower()}")
    return meant


def _number(value: Any, word: str, place: Place) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    meant = _number_in(value)
    if meant is None:
        raise place.unmendable(f"`{word}` is not a number but {value!r:.40}")
    place.note(f"`{word}` is text; it is read as the number {meant}")
    return meant


def _number_in(value: Any) -> int | float | None:
    if not isinstance(value, str) or len(value) > 30:
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        meant = float(value)
    except ValueError:
        return None
    return meant if meant - meant == 0 else None


def _count(value: Any, word: str, place: Place) -> Any:
    meant = _number(value, word, place)
    if meant < 0 or meant != int(meant):
        raise place.unmendable(f"`{word}` is not a whole number from 0 on but {value!r:.40}")
    return meant


def _limit(value: Any, word: str, place: Place) -> Any:
    """`exclusiveMinimum` and its twin were flags in draft 4; what such a flag means is told by its neighbour."""
    return value if isinstance(value, bool) else _number(value, word, place)


def _type(value: Any, _word: str, place: Place) -> Any:
    if isinstance(value, str):
        return _type_name(value, place)
    if not is_array(value) or not value:
        raise place.unmendable(f"`type` is {value!r:.40}, which names no type")
    if not all(isinstance(each, str) for each in value):
        raise place.unmendable("`type` lists what is no name of a type")
    names = [name for each in value if (name := _type_name(each, place)) is not _GONE]
    meant = list(dict.fromkeys(names))
    if len(names) < len(value):
        return _GONE
    if len(meant) < len(names):
        place.note("`type` lists a type twice")
    return value if meant == value else meant


def _type_name(value: str, place: Place) -> Any:
    if value in TYPES:
        return value
    plain = value.strip().lower()
    meant = _SAME_TYPE.get(plain, plain)
    if meant in TYPES:
        place.note(f"`type` is {value[:40]!r}; it is read as {meant}")
        return meant
    if plain in {"", "any"}:
        place.note(f"`type` is {value[:40]!r}; any type is passed on")
        return _GONE
    raise place.unmendable(f"`type` is {value[:40]!r}, which is no type of JSON")


def _required(value: Any, word: str, place: Place) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value:
        place.note("`required` is one name, not a list of names")
        return [value]
    return _names(value, word, place)


def _names(value: Any, word: str, place: Place) -> Any:
    if not is_array(value) or not all(isinstance(name, str) for name in value):
        raise place.unmendable(f"`{word}` is not a list of names but {value!r:.40}")
    meant = list(dict.fromkeys(value))
    if len(meant) == len(value):
        return value
    place.note(f"`{word}` lists a name twice")
    return meant


def _enum(value: Any, _word: str, place: Place) -> Any:
    if not is_array(value):
        if is_object(value):
            raise place.unmendable("`enum` is not a list of values")
        place.note("`enum` is one value, not a list of values")
        return [value]
    if not value:
        place.note("`enum` lists nothing; any value is passed on")
        return _GONE
    if all(isinstance(each, str) for each in value) and len(set(value)) == len(value):
        return value  # as nearly all are, and as those with a hundred thousand values are
    meant: dict[bytes, Any] = {}
    for each in value:
        meant.setdefault(canonical_json(each), each)
    if len(meant) == len(value):
        return value
    place.note("`enum` lists a value twice")
    return list(meant.values())


def _examples(value: Any, _word: str, place: Place) -> Any:
    if is_array(value):
        return value
    place.note("`examples` is not a list; it is taken as one example")
    return [value]


def _schema(value: Any, word: str, place: Place) -> Any:
    return _any_schema(value, place.below(word))


def _any_schema(value: Any, place: Place) -> Any:
    if is_object(value):
        return without_flag(_mended(value, place), place)
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _FLAGS:
        place.note(f"it is text; it is read as {word}")
        return _FLAGS[word]
    if _SAME_TYPE.get(word, word) in TYPES:
        place.note(f"it is {word!r}; it is read as a schema of that type")
        return {"type": _SAME_TYPE.get(word, word)}
    raise place.unmendable(f"it is not a schema but {value!r:.40}")


def _schemas(value: Any, word: str, place: Place) -> Any:
    if is_object(value):
        place.note(f"`{word}` is one schema, not a list of schemas")
        value = [value]
    if not is_array(value):
        raise place.unmendable(f"`{word}` is not a list of schemas but {value!r:.40}")
    if not value:
        place.note(f"`{word}` lists nothing; any value is passed on")
        return _GONE
    meant = [_any_schema(each, place.below(f"{word}[{index}]")) for index, each in enumerate(value)]
    return value if all(map(_is, meant, value)) else meant


def _items(value: Any, word: str, place: Place) -> Any:
    return _schemas(value, word, place) if is_array(value) else _schema(value, word, place)


def _schema_by_name(value: Any, word: str, place: Place) -> Any:
    if is_array(value) and not value:
        place.note(f"`{word}` is an empty list; it is read as an empty object")
        return {}
    if not is_object(value):
        raise place.unmendable(f"`{word}` is not an object but {value!r:.40}")
    here = place.below(word)
    meant = {
        name: each if is_object(each) and _is_plain(each) else _member(each, word, here.below(name))
        for name, each in value.items()
    }
    return value if all(map(_is, meant.values(), value.values())) else meant


def _member(value: Any, word: str, place: Place) -> Any:
    if value is None:
        place.note("it is null; any value is passed on")
        return {}
    if word == "dependencies" and is_array(value):
        return _names(value, word, place)
    # Only of a property can its object say that it is required.
    return _mended(value, place) if word == "properties" and is_object(value) else _any_schema(value, place)


def _names_by_name(value: Any, word: str, place: Place) -> Any:
    if is_object(value) and all(is_array(names) for names in value.values()):
        return value
    raise place.unmendable(f"`{word}` does not map names to lists of names")


def _is(one: Any, other: Any) -> bool:
    return one is other


def _as_it_is(value: Any, _word: str, _place: Place) -> Any:
    return value


_MAY_BE_NULL = frozenset({"const", "default"})

_TEXTS = frozenset(
    {"title", "description", "$comment", "format", "contentEncoding", "contentMediaType"}
    | {"$schema", "$id", "$anchor", "$dynamicAnchor"}
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(("pattern", "$ref", "$dynamicRef", "$recursiveRef"), _constraint),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), _annotation_flag),
    "uniqueItems": _flag,
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _limit),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    **dict.fromkeys(("minContains", "maxContains"), _count),
    "type": _type,
    "required": _required,
    "enum": _enum,
    "examples": _examples,
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames"), _schema),
    **dict.fromkeys(("additionalItems", "unevaluatedItems", "contains", "not", "if", "then", "else"), _schema),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _schemas),
    "items": _items,
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _schema_by_name),
    "dependencies": _schema_by_name,
    "dependentRequired": _names_by_name,
    **dict.fromkeys(("const", "default"), _as_it_is),
}
"""By the word whose value they read."""
