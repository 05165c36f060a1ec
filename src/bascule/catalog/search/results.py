"""Search results for a model: enough of each tool to call it, within 16,000 characters."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bascule.catalog.search.index import Found
from bascule.core.json_types import JsonObject, as_array, as_object, is_array, is_object
from bascule.core.tool import ToolSpec

MOST_SHOWN = 16_000
"""Characters of one answer: some four thousand tokens."""

MOST_DESCRIPTION = 1000
MOST_SCHEMA = 4000
"""Characters of one tool's description, and of its schema."""

MOST_ARGUMENTS = 40
MOST_NAME = 80
MOST_VALUES = 10

_KEPT = ("type", "enum", "const", "format", "description", "items", "properties", "required", "anyOf", "oneOf")
"""What is kept of a schema that is too long. The rest is checked all the same when the tool is called."""

_BARE = ("type", "properties", "required")
"""What is kept of it at the least."""

SHORTENED = "shortened: what does not fit is told when the tool is called"

_encode = msgspec.json.Encoder().encode


def shown(found: Found, servers: Iterable[str]) -> JsonObject:
    """The answer to a search."""
    tools: list[JsonObject] = []
    room = MOST_SHOWN
    for spec in found.tools:
        tool = shown_tool(spec)
        room -= len(_encode(tool))
        if room < 0:
            break
        tools.append(tool)
    answer: JsonObject = {"tools": tools}
    more = found.total - len(tools)
    if not tools:
        answer["hint"] = f"nothing fits; try other words. There are tools of: {', '.join(servers) or 'no server'}"
    elif more > 0:
        answer["more"] = more
        answer["hint"] = f"{more} more fit less well; use other words, or a higher limit"
    return answer


def shown_tool(spec: ToolSpec) -> JsonObject:
    schema, whole = shown_schema(spec.plain_schema)
    tool: JsonObject = {"name": spec.name, "description": _cut(spec.description, MOST_DESCRIPTION)}
    return {**tool, "input_schema": schema} if whole else {**tool, "input_schema": schema, "note": SHORTENED}


def shown_schema(schema: Mapping[str, Any]) -> tuple[JsonObject, bool]:
    """The schema, and whether it is whole. One that is too long loses what is deepest, then what is said."""
    if _fits(schema):
        return dict(schema), True
    pruned: JsonObject = {}
    for depth, said in ((3, 120), (2, 120), (1, 120), (1, 40), (1, 0)):
        pruned = _pruned(schema, depth, said)
        if _fits(pruned):
            break
    return pruned, False


def _fits(schema: Mapping[str, Any]) -> bool:
    return len(_encode(schema)) <= MOST_SCHEMA


def _pruned(schema: Mapping[str, Any], depth: int, said: int) -> JsonObject:
    """`said` are the characters that may be said of one argument."""
    kept = _KEPT if said else _BARE
    return {key: _part(key, schema[key], depth, said) for key in kept if key in schema}


def _part(key: str, value: Any, depth: int, said: int) -> Any:
    match key:
        case "properties":
            first = [*as_object(value).items()][: MOST_ARGUMENTS if depth > 0 else 0]
            return {_cut(name, MOST_NAME): _below(each, depth, said) for name, each in first}
        case "items":
            return _below(value, depth, said)
        case "anyOf" | "oneOf":
            return [_below(option, depth, said) for option in as_array(value)[:MOST_VALUES]]
        case _ if is_array(value):
            most = MOST_ARGUMENTS if key == "required" else MOST_VALUES
            return [_cut(each, MOST_NAME) if isinstance(each, str) else each for each in value[:most]]
        case _:
            return _cut(value, max(said, MOST_NAME)) if isinstance(value, str) else None if is_object(value) else value


def _below(schema: Any, depth: int, said: int) -> JsonObject:
    inner = as_object(schema)
    if depth < 1:
        return {"type": inner["type"]} if isinstance(inner.get("type"), str) else {}
    return _pruned(inner, depth - 1, said)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
