"""One catalogued tool: what agents see of it, and what its calls are checked against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.catalog.cost import bound_of
from bascule.catalog.digest import tool_digest
from bascule.catalog.validation import Validator
from bascule.core.jsonvalue import JsonObject, as_array, as_object, as_text, is_array, is_object
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus

HeaderMap = Mapping[tuple[str, ...], str]
"""Arguments that also travel as HTTP headers: the path of each, and its header's name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool in the catalog. Only one that can be used has an argument validator."""

    spec: ToolSpec
    arguments: Validator | None = None
    results: Validator | None = None
    """None if the tool promises nothing about its results."""
    headers: HeaderMap = field(default_factory=dict[tuple[str, ...], str])
    notes: tuple[str, ...] = ()
    """Sloppiness that we put right."""


def make_entry(definition: JsonObject, key: ToolKey, name: str, *, exposed: bool = True) -> Entry:
    """Catalogue one definition under its exposed name. `exposed` says whether the operator lets it be seen."""
    notes: list[str] = []
    schema = _input_schema(definition.get("inputSchema"), notes)
    output = _output_schema(definition.get("outputSchema"), notes)

    def spec(status: ToolStatus, problem: str) -> ToolSpec:
        return ToolSpec(
            name=name,
            key=key,
            digest=tool_digest(definition),
            description=as_text(definition.get("description")) or "",
            title=as_text(definition.get("title")),
            input_schema=schema,
            output_schema=output,
            annotations=as_object(definition.get("annotations")),
            status=status,
            problem=problem,
        )

    hidden = _why_hidden(definition, exposed=exposed)
    if hidden:
        return Entry(spec(ToolStatus.HIDDEN, hidden), notes=tuple(notes))
    checks = _checks(schema, output)
    if isinstance(checks, str):
        return Entry(spec(ToolStatus.UNUSABLE, checks), notes=tuple(notes))
    arguments, results, headers = checks
    return Entry(spec(ToolStatus.EXPOSED, ""), arguments, results, headers, tuple(notes))


def _checks(schema: JsonObject, output: JsonObject | None) -> tuple[Validator, Validator | None, HeaderMap] | str:
    """What calls are checked against, or why there can be none."""
    kind = schema["type"]
    if kind != "object" and "object" not in as_array(kind):
        return f"its input schema is for {str(kind)[:40]!r}, but arguments are always an object"
    bound = bound_of(schema)
    if isinstance(bound, str):
        return f"its input schema cannot be used: {bound}"
    headers = _headers(schema)
    if isinstance(headers, str):
        return f"its input schema cannot be used: {headers}"
    if output is None:
        return Validator(schema, bound), None, headers
    output_bound = bound_of(output)
    if isinstance(output_bound, str):
        return f"its output schema cannot be used: {output_bound}"
    return Validator(schema, bound), Validator(output, output_bound), headers


def _input_schema(given: Any, notes: list[str]) -> JsonObject:
    if not is_object(given):
        notes.append("it has no input schema; any arguments are passed on")
        return {"type": "object"}
    if "type" not in given:
        notes.append("its input schema has no type; it is taken to be for an object")
        return {**given, "type": "object"}
    return given


def _output_schema(given: Any, notes: list[str]) -> JsonObject | None:
    if given is not None and not is_object(given):
        notes.append("its output schema is not an object, and is ignored")
    return given if is_object(given) else None


def _why_hidden(definition: JsonObject, *, exposed: bool) -> str:
    if not exposed:
        return "the server's `tools` setting does not expose it"
    ui = as_object(as_object(definition.get("_meta")).get("ui"))
    visibility = ui.get("visibility", ["model"])
    if "model" not in (visibility if is_array(visibility) else [visibility]):
        return "it is for a user interface, not for models"
    return ""


def _headers(schema: JsonObject) -> HeaderMap | str:
    if b"x-mcp-header" not in msgspec.json.encode(schema):
        return {}
    from mcp.shared.inbound import (  # noqa: PLC0415 -- takes a second, and hardly a tool has such headers
        find_invalid_x_mcp_header,
        x_mcp_header_map,
    )

    return find_invalid_x_mcp_header(schema) or x_mcp_header_map(schema)
