"""Signature of a tool: its parameters on one line, for error messages to people and models."""

from collections.abc import Mapping
from typing import Any

from bascule.core.json_types import as_array, as_object, as_text

MAX_PARAMETERS = 12
"""Parameters shown. Whoever needs more needs the schema."""

_LONGEST_NAME = 40
_LONGEST_TYPE = 60


def signature(tool: str, schema: Mapping[str, Any]) -> str:
    """For example `echo(message: string, count?: integer)`."""
    required = {name for name in as_array(schema.get("required")) if isinstance(name, str)}
    properties = as_object(schema.get("properties"))
    # A required parameter must be seen even where not all can be shown.
    names = sorted(properties, key=lambda name: name not in required)
    shown = [_parameter(name, properties[name], name in required) for name in names[:MAX_PARAMETERS]]
    if len(names) > MAX_PARAMETERS:
        shown.append("…")
    return f"{_short(tool)}({', '.join(shown)})"


def _parameter(name: str, schema: Any, required: bool) -> str:  # noqa: FBT001 -- read once, three lines above
    return f"{_short(name)}{'' if required else '?'}: {type_name(schema)}"


def type_name(schema: Any, depth: int = 2) -> str:
    """What a schema takes, in a word or two."""
    fields = as_object(schema)
    text = _of_reference(fields) or _of_values(fields) or _of_union(fields, depth) or _of_type(fields, depth)
    return text if len(text) <= _LONGEST_TYPE else "any"


def _of_reference(fields: dict[str, Any]) -> str:
    return _short((as_text(fields.get("$ref")) or "").rsplit("/", 1)[-1])


def _of_values(fields: dict[str, Any]) -> str:
    values = [fields["const"]] if "const" in fields else as_array(fields.get("enum"))
    if not values or not all(isinstance(value, str | int | float | None) for value in values[:5]):
        return ""
    shown = "|".join(f'"{_short(value)}"' if isinstance(value, str) else str(value) for value in values[:5])
    return shown if len(values) <= 5 else f"{shown}|…"


def _of_union(fields: dict[str, Any], depth: int) -> str:
    options = as_array(fields.get("anyOf")) or as_array(fields.get("oneOf"))
    return "|".join(dict.fromkeys(type_name(option, depth - 1) for option in options[:5])) if depth > 0 else ""


def _of_type(fields: dict[str, Any], depth: int) -> str:
    kind = fields.get("type")
    if kind == "array" and depth > 0:
        inner = type_name(fields.get("items"), depth - 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    return (
        _short(kind)
        if isinstance(kind, str)
        else "|".join(_short(k) for k in as_array(kind)[:5] if isinstance(k, str)) or "any"
    )


def _short(text: str) -> str:
    """Safe to show: a name may hold anything."""
    cut = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
    return cut if cut.isprintable() else repr(cut)[1:-1]
