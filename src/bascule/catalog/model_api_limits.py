"""Limits of the model APIs on tool definitions, beyond JSON Schema.

One tool that an API refuses fails the whole request, so that an agent loses all of them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bascule.catalog.schema.subschemas import parts_of
from bascule.core.json_types import as_object, is_object
from bascule.core.tool import ToolSpec

OPENAI, ANTHROPIC, GEMINI = "OpenAI", "Anthropic", "Gemini"

AT_THE_TOP: Mapping[str, tuple[str, ...]] = {
    "oneOf": (OPENAI, ANTHROPIC),
    "anyOf": (OPENAI, ANTHROPIC),
    "allOf": (OPENAI, ANTHROPIC),
    "enum": (OPENAI,),
    "not": (OPENAI,),
}
"""Words that an input schema may not begin with, by who refuses them."""

_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_GEMINI_NAME = re.compile(r"[A-Za-z_]")

MOST_PLACES = 2000
"""Places of a schema that are looked at. No tool that a model could call is larger."""


def refusals(spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """Who refuses the tool, and why."""
    schema = spec.plain_schema
    for word in AT_THE_TOP.keys() & schema.keys():
        yield from _each(AT_THE_TOP[word], f"its input schema has `{word}` at the top level")
    if schema.get("type", "object") != "object":
        yield from _each((OPENAI, ANTHROPIC, GEMINI), "its input schema is not that of an object")
    odd = (name for name in as_object(schema.get("properties")) if not _ARGUMENT.fullmatch(name))
    for name in odd:
        yield ANTHROPIC, f"its argument {name[:40]!r} is not 1 to 64 of the characters A-Z a-z 0-9 _ . -"
    if not _GEMINI_NAME.match(spec.name):
        yield GEMINI, "its name begins with neither a letter nor an underscore"
    if _has_bare_array(schema):
        yield from _each((OPENAI, GEMINI), "it has an array that does not say what its `items` are")


def _each(apis: tuple[str, ...], why: str) -> Iterator[tuple[str, str]]:
    return ((api, why) for api in apis)


def _has_bare_array(schema: Mapping[str, Any]) -> bool:
    waiting: list[Any] = [schema]
    for _ in range(MOST_PLACES):
        if not waiting:
            return False
        place = waiting.pop()
        if is_object(place):
            if place.get("type") == "array" and not {"items", "prefixItems"} & place.keys():
                return True
            waiting += parts_of(place)
    return False
