"""What an agent session is offered, as lists of the protocol."""

from typing import Any

from bascule.core.json_types import JsonObject
from bascule.core.prompt import PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolSpec


def tool(spec: ToolSpec) -> JsonObject:
    """A tool as its server defined it, by the name under which agents know it."""
    listed: JsonObject = {"name": spec.name, "inputSchema": spec.input_schema}
    return listed | _given(
        title=spec.title,
        description=spec.description,
        outputSchema=spec.output_schema,
        annotations=spec.annotations,
    )


def resource(spec: ResourceSpec) -> JsonObject:
    listed: JsonObject = {"name": spec.name or spec.uri, "uri": spec.uri}
    return listed | _given(**_described(spec), size=spec.size)


def template(spec: ResourceSpec) -> JsonObject:
    listed: JsonObject = {"name": spec.name or spec.uri_template, "uriTemplate": spec.uri_template}
    return listed | _given(**_described(spec))


def prompt(spec: PromptSpec) -> JsonObject:
    arguments = [
        {"name": each.name, **_given(description=each.description, title=each.title, required=each.required)}
        for each in spec.arguments
    ]
    return {"name": spec.name} | _given(title=spec.title, description=spec.description, arguments=arguments)


def _described(spec: ResourceSpec) -> dict[str, Any]:
    return {"title": spec.title, "description": spec.description, "mimeType": spec.mime_type}


def _given(**fields: Any) -> JsonObject:
    """Those that say something."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, False)}
