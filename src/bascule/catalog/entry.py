"""Catalog entry of one tool: its specification for agents, and the validators of its calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.catalog.digest import tool_digest
from bascule.catalog.judgement import Judge, Judgement, accept
from bascule.catalog.repair import mend, takes_objects
from bascule.catalog.schema.validator import Validator, validator_of
from bascule.catalog.screening.findings import screened_definition
from bascule.core.json_types import JsonObject, as_object, is_array
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
    definition: JsonObject = field(default_factory=dict[str, Any], repr=False)
    """As it came."""
    judgement: Judgement = field(default_factory=Judgement)


def make_entry(definition: JsonObject, key: ToolKey, name: str, judge: Judge = accept) -> Entry:
    """Catalogue one definition under its exposed name."""
    mended = mend(definition)
    digest = tool_digest(definition)
    judgement = judge(definition, digest)
    hidden = _why_hidden(definition, exposed=judgement.exposed)
    kept_back = hidden or judgement.unapproved
    checks = kept_back or mended.problem or _checks(mended.input_schema, mended.output_schema)
    refused = checks if isinstance(checks, str) else ""
    spec = ToolSpec(
        name=name,
        key=key,
        digest=digest,
        description=mended.description,
        title=mended.title,
        input_schema=mended.input_schema,
        output_schema=mended.output_schema,
        annotations=mended.annotations,
        permissions=judgement.permissions,
        status=_status(hidden=bool(hidden), kept_back=bool(kept_back), refused=bool(refused)),
        problem=refused,
        notes=mended.notes,
        # Nobody is shown a hidden tool.
        findings=() if hidden else screened_definition(definition),
        flat_schema=None if isinstance(checks, str) else _other(checks[0].schema, mended.input_schema),
    )
    # One that is kept back has no validator, so that no way to a call is left, whatever a rule may say.
    if isinstance(checks, str):
        return Entry(spec, definition=definition, judgement=judgement)
    return Entry(spec, *checks, definition=definition, judgement=judgement)


def _status(*, hidden: bool, kept_back: bool, refused: bool) -> ToolStatus:
    if hidden:
        return ToolStatus.HIDDEN
    if kept_back:
        return ToolStatus.QUARANTINED
    return ToolStatus.UNUSABLE if refused else ToolStatus.EXPOSED


def _checks(schema: JsonObject, output: JsonObject | None) -> tuple[Validator, Validator | None, HeaderMap] | str:
    """What calls are checked against, or why there can be none."""
    if not takes_objects(schema):
        return f"its input schema is for {str(schema['type'])[:40]!r}, but arguments are always an object"
    arguments = validator_of(schema)
    if isinstance(arguments, str):
        return f"its input schema cannot be used: {arguments}"
    headers = _headers(schema)
    if isinstance(headers, str):
        return f"its input schema cannot be used: {headers}"
    results = None if output is None else validator_of(output)
    if isinstance(results, str):
        return f"its output schema cannot be used: {results}"
    return arguments, results, headers


def _other(flat: JsonObject, schema: JsonObject) -> JsonObject | None:
    return None if flat is schema else flat


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
