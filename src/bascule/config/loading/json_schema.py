"""JSON Schema of `bascule.yaml`, generated from the key table, for completion in editors."""

import json
from collections.abc import Mapping
from typing import Any

from bascule.config.loading.key_table import SERVER_KEYS, TOP_KEYS, Key, Kind
from bascule.config.names import NAME

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors know best."""

VARIABLE = {"type": "string", "pattern": r"\$\{"}
"""Every value may be one of the environment's."""

_SIZE = {"type": "string", "pattern": r"^\s*[0-9]{1,15}\s*(B|KiB|MiB|GiB)?\s*$"}
_ABOVE_0 = {"type": "number", "exclusiveMinimum": 0}
_COUNT = {"type": "integer", "minimum": 1}
_WORDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

_SHAPES: Mapping[Kind, dict[str, Any]] = {
    Kind.TEXT: {"type": "string"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.TEXT_MAP: {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
    Kind.FLAG: {"type": "boolean"},
    Kind.SECONDS: _ABOVE_0,
    Kind.COUNT: _COUNT,
    Kind.COUNTS: {"type": "array", "items": {"anyOf": [_COUNT, VARIABLE]}},
    Kind.NUMBER: _ABOVE_0,
    Kind.SIZE: {"anyOf": [_COUNT, _SIZE]},
    Kind.TABLES: {"type": "array", "items": {"type": "object"}},
    Kind.MOUNTS: {"anyOf": [{"const": "auto"}, {"type": "array", "items": {"type": "object"}}]},
    Kind.WORD_MAP: {"type": "object", "additionalProperties": _WORDS},
    Kind.NUMBER_MAPS: {"type": "object", "additionalProperties": {"type": "object"}},
}


def config_schema() -> dict[str, Any]:
    """The whole of it."""
    server = _table(SERVER_KEYS)
    servers = {
        "description": "The servers, each under its name.",
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": server,
    }
    top = _table(TOP_KEYS)
    return {
        "$schema": DRAFT,
        "title": "bascule.yaml",
        "description": "MCP servers, and the rules under which agents reach them.",
        **top,
        "properties": {"mcp_servers": servers, **top["properties"]},
        "required": ["mcp_servers"],
    }


def written() -> str:
    """The text of the file that is shipped, `docs/bascule.schema.json`."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


def _table(keys: Mapping[str, Key], above: str = "") -> dict[str, Any]:
    """All that may stand at one place. What is unknown there is an error, as it is to the program."""
    properties: dict[str, Any] = {}
    for name in dict.fromkeys(key.removeprefix(above).partition(".")[0] for key in keys if key.startswith(above)):
        place = f"{above}{name}"
        own, inside = keys.get(place), any(key.startswith(f"{place}.") for key in keys)
        if not any(key.available for key in keys.values() if key.name == place or key.name.startswith(f"{place}.")):
            continue
        shapes = [_table(keys, f"{place}.")] if inside else []
        if own is not None:
            shapes.append(_shape(own))
        shown = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        properties[name] = {"description": own.meaning, **shown} if own is not None else shown
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _shape(key: Key) -> dict[str, Any]:
    """One value, which may also be left empty. Texts of variables are texts anyway."""
    shape = {"enum": [*key.choices]} if key.kind is Kind.CHOICE else _SHAPES[key.kind]
    ways = [shape, {"type": "null"}] if shape.get("type") == "string" else [shape, VARIABLE, {"type": "null"}]
    default = key.default
    if default is None or isinstance(default, tuple | dict):
        return {"anyOf": ways}
    return {"anyOf": ways, "default": default}
