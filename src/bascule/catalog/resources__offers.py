"""What one server offers beside tools, as catalogued: resources, templates that stand for many, and prompts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bascule.catalog.digest import tool_digest
from bascule.catalog.naming import exposed_names
from bascule.catalog.pages import Pages
from bascule.catalog.screening.findings import screened_definition
from bascule.catalog.uri_template import UriTemplate, parse_template
from bascule.core.json_types import JsonObject, as_array, as_text, is_object
from bascule.core.prompt import PromptArgument, PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolKey

MAX_ARGUMENTS = 100
"""Arguments of one prompt. A person fills them in."""


@dataclass(frozen=True, slots=True)
class ServerOffers:
    """The resources and prompts of one server."""

    server: str
    resources: Mapping[str, ResourceSpec] = field(default_factory=dict[str, ResourceSpec])
    """By URI."""
    templates: Mapping[str, ResourceSpec] = field(default_factory=dict[str, ResourceSpec])
    """By template."""
    patterns: Mapping[str, UriTemplate] = field(default_factory=dict[str, UriTemplate])
    """The templates that can be read, by the same."""
    prompts: tuple[PromptSpec, ...] = ()
    problems: tuple[str, ...] = ()
    """What cannot be used, and why."""

    def resource_digests(self) -> dict[str, str]:
        specs = (*self.resources.values(), *self.templates.values())
        return {f"{spec.kind} {spec.address}": spec.digest for spec in specs}

    def prompt_digests(self) -> dict[str, str]:
        return {prompt.key.tool: prompt.digest for prompt in self.prompts}


def catalog_offers(
    server: str, prefix: str, resources: Pages, templates: Pages, prompts: Pages, problems: Iterable[str] = ()
) -> ServerOffers:
    """Everything that was listed, each entry on its own: a bad one never takes its neighbours away."""
    patterns: dict[str, UriTemplate] = {}
    told = [*problems, *resources.problems, *templates.problems, *prompts.problems]
    for text in templates.definitions:
        parsed = parse_template(text)
        if isinstance(parsed, UriTemplate):
            patterns[text] = parsed
        else:
            told.append(f"the resource template {text[:80]!r} matches nothing: {parsed}")
    names = exposed_names(server, prefix, prompts.definitions)
    return ServerOffers(
        server=server,
        resources={uri: _resource(server, given, uri=uri) for uri, given in resources.definitions.items()},
        templates={text: _resource(server, given, uri_template=text) for text, given in templates.definitions.items()},
        patterns=patterns,
        prompts=tuple(_prompt(names[own], ToolKey(server, own), given) for own, given in prompts.definitions.items()),
        problems=tuple(told),
    )


def _resource(server: str, definition: JsonObject, *, uri: str = "", uri_template: str = "") -> ResourceSpec:
    size = definition.get("size")
    return ResourceSpec(
        server=server,
        kind="resource" if uri else "template",
        digest=tool_digest(definition),
        uri=uri,
        uri_template=uri_template,
        name=as_text(definition.get("name")) or "",
        title=as_text(definition.get("title")),
        description=as_text(definition.get("description")) or "",
        mime_type=as_text(definition.get("mimeType")),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        findings=screened_definition(definition),
    )


def _prompt(name: str, key: ToolKey, definition: JsonObject) -> PromptSpec:
    arguments = [_argument(given) for given in as_array(definition.get("arguments"))[:MAX_ARGUMENTS]]
    return PromptSpec(
        name=name,
        key=key,
        digest=tool_digest(definition),
        description=as_text(definition.get("description")) or "",
        title=as_text(definition.get("title")),
        arguments=tuple(argument for argument in arguments if argument is not None),
        findings=screened_definition(definition),
    )


def _argument(given: Any) -> PromptArgument | None:
    name = as_text(given.get("name")) if is_object(given) else None
    if not name:
        return None
    description, title = as_text(given.get("description")) or "", as_text(given.get("title"))
    return PromptArgument(name, description, title, required=given.get("required") is True)
