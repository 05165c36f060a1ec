"""Repair of tool definitions that deviate from the protocol: each is corrected with a note, or unusable with the
reason."""

from collections.abc import Callable
from typing import Any

import msgspec

from bascule.catalog.schema.repair import Unmendable, mended_schema
from bascule.core.json_types import JsonObject, as_array, as_text, is_object

HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})
_FLAGS = {"true": True, "false": False}

_COMBINING = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "not", "if", "const", "enum"})
"""Words by which a schema without a type may still say for what it is."""


class Mended(msgspec.Struct, frozen=True):
    """What a definition says. Parts that had nothing wrong are the very objects that came."""

    description: str
    title: str | None
    input_schema: JsonObject
    output_schema: JsonObject | None
    annotations: JsonObject
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why the tool cannot be used all the same."""


Note = Callable[[str], None]


def mend(definition: JsonObject) -> Mended:
    """Read a definition. Never raises, and changes nothing in it."""
    notes: list[str] = []
    problems: list[str] = []
    given = _under_its_name(definition, "inputSchema", ("input_schema", "parameters"), notes.append)
    output = _under_its_name(definition, "outputSchema", ("output_schema",), notes.append)
    schema = _read(_input_schema(given, notes.append), "input", notes, problems)
    return Mended(
        description=_text(definition, "description", notes.append) or "",
        title=_text(definition, "title", notes.append),
        input_schema=_for_an_object(schema, notes.append),
        output_schema=_output_schema(output, notes, problems),
        annotations=_annotations(definition.get("annotations"), notes.append),
        notes=tuple(notes),
        problem=problems[0] if problems else "",
    )


def _under_its_name(definition: JsonObject, name: str, others: tuple[str, ...], note: Note) -> Any:
    given = definition.get(name)
    if given is not None:
        return given
    for other in others:
        if is_object(definition.get(other)):
            note(f"its `{name}` is called `{other}`")
            return definition[other]
    return None


def _read(schema: JsonObject, which: str, notes: list[str], problems: list[str]) -> JsonObject:
    try:
        mended, found = mended_schema(schema)
    except Unmendable as reason:
        problems.append(f"its {which} schema cannot be used: {reason}")
        return schema
    notes += [f"in its {which} schema, {note}" for note in found]
    return mended


def _input_schema(given: Any, note: Note) -> JsonObject:
    if is_object(given):
        return given
    note("it has no input schema; any arguments are passed on")
    return {"type": "object"}


def _for_an_object(schema: JsonObject, note: Note) -> JsonObject:
    if "type" in schema:
        return schema
    note("its input schema has no type; it is taken to be for an object")
    return {**schema, "type": "object"}


def _output_schema(given: Any, notes: list[str], problems: list[str]) -> JsonObject | None:
    if given is None:
        return None
    if not is_object(given):
        notes.append("its output schema is not an object, and is ignored")
        return None
    schema = _read(given, "output", notes, problems)
    if "properties" not in schema or not _COMBINING.isdisjoint(schema):
        return schema
    notes.append("its output schema has properties and no type; it is taken to be for an object")
    return {**schema, "type": "object"}


def _text(definition: JsonObject, name: str, note: Note) -> str | None:
    value = definition.get(name)
    if value is not None and not isinstance(value, str):
        note(f"its {name} is not text, and is left out")
    return as_text(value)


def _annotations(given: Any, note: Note) -> JsonObject:
    if given is None:
        return {}
    if not is_object(given):
        note("its annotations are not an object, and are left out")
        return {}
    odd = {name for name in HINTS & given.keys() if not isinstance(given[name], bool)}
    if not isinstance(given.get("title", ""), str):
        odd.add("title")
    return _readable(given, odd, note) if odd else given


def _readable(annotations: JsonObject, odd: set[str], note: Note) -> JsonObject:
    meant = {name: _FLAGS.get(str(annotations[name]).strip().lower()) for name in sorted(odd & HINTS)}
    for name in sorted(odd):
        flag = meant.get(name)
        told = "is left out" if flag is None else f"is read as {str(flag).lower()}"
        note(f"its annotation `{name}` is {annotations[name]!r:.40}, and {told}")
    kept = {name: value for name, value in annotations.items() if name not in odd}
    return kept | {name: flag for name, flag in meant.items() if flag is not None}


def takes_objects(schema: JsonObject) -> bool:
    kind = schema["type"]
    return kind == "object" or "object" in as_array(kind)
