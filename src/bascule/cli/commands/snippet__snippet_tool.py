"""A tool to show in an example, and arguments for it: one that only reads, if there is one, and wants little."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bascule.core.json_types import as_array, as_object
from bascule.core.permission import Permission
from bascule.core.tool import ToolSpec

_READING = {"get", "list", "read", "search", "find", "show", "now", "echo", "query", "describe", "convert", "count"}

_VALUES = {
    "timezone": "UTC",
    "path": ".",
    "url": "https://example.com",
    "message": "hello",
    "text": "hello",
    "word": "",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A call as an example makes it."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


def shown(specs: Iterable[ToolSpec]) -> Shown | None:
    """Nothing, where no tool says that it only reads: an example is run before it is read."""
    fitting = sorted((spec for spec in specs if only_reads(spec)), key=_effort)
    return Shown(fitting[0].name, example(fitting[0].input_schema)) if fitting else None


def only_reads(spec: ToolSpec) -> bool:
    """By the operator's word or the server's, or else by its name. Where the server says otherwise, it counts."""
    hint = spec.annotations.get("readOnlyHint")
    if spec.permissions == frozenset({Permission.READ}) or hint is True:
        return True
    words = spec.key.tool.replace("-", "_").split("_")
    return hint is None and words[0].lower() in _READING


def example(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that fit, as far as that can be seen: those that have to be there."""
    properties = as_object(schema.get("properties"))
    return {str(name): _value(str(name), as_object(properties.get(name))) for name in as_array(schema.get("required"))}


def _effort(spec: ToolSpec) -> int:
    return len(as_array(spec.input_schema.get("required")))


def _value(name: str, field: Mapping[str, Any]) -> Any:
    if "default" in field or "const" in field:
        return field.get("default", field.get("const"))
    for key in ("enum", "examples"):
        if as_array(field.get(key)):
            return field[key][0]
    by_type: dict[str, Any] = {
        "integer": field.get("minimum", 1),
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return by_type.get(str(field.get("type")), _VALUES.get(name.lower(), "hello"))
