"""Resources, resource templates and prompts: the catalogued offers of one server, and the library of all servers, which
finds the server of a URI and the prompt of a name."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bascule.catalog.digest import tool_digest
from bascule.catalog.naming import collision_problem, exposed_names, nearest_names
from bascule.catalog.pages import Pages
from bascule.catalog.screening.findings import refusal_of, screened_definition
from bascule.catalog.uri_template import UriTemplate, parse_template
from bascule.core.errors import Refused, UnknownPrompt, UnknownResource
from bascule.core.json_types import JsonObject, as_array, as_text, is_object
from bascule.core.prompt import PromptArgument, PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolKey, ToolStatus

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


MAX_COMPARED = 100_000
"""Characters compared with templates to find one URI's server: some 30 milliseconds. A server can list thousands of
templates that fit almost everything."""


class Library:
    """The offers of several servers, merged. Frozen: a changed listing makes a new library."""

    __slots__ = ("_by_name", "_collisions", "_refuse", "all_prompts", "all_resources", "offers", "prompts", "resources")

    def __init__(self, offers: Iterable[ServerOffers] = (), *, refuse: bool = False) -> None:
        """`refuse` says whether what has findings is kept from agents."""
        self.offers = tuple(offers)
        self._refuse = refuse
        self.all_resources: tuple[ResourceSpec, ...] = tuple(
            spec for held in self.offers for spec in (*held.resources.values(), *held.templates.values())
        )
        self.resources = tuple(spec for spec in self.all_resources if not self._refused(spec))
        """The resources and templates an agent is shown."""
        self._by_name, self._collisions = _table(prompt for held in self.offers for prompt in held.prompts)
        self.all_prompts = tuple(self._status(prompt) for held in self.offers for prompt in held.prompts)
        """Every prompt, each with its status and what is wrong with it."""
        self.prompts = tuple(prompt for prompt in self.all_prompts if prompt.status is ToolStatus.EXPOSED)
        """The prompts an agent is shown."""

    @property
    def problems(self) -> tuple[str, ...]:
        refused = (spec for spec in self.all_resources if self._refused(spec))
        return (
            *(f"{held.server}: {problem}" for held in self.offers for problem in held.problems),
            *(f"{spec.server}: {spec.address[:80]!r}: {refusal_of(spec.findings)}" for spec in refused),
        )

    def prompt(self, name: str) -> PromptSpec:
        found = self._by_name.get(name)
        if found is None:
            raise self._unknown_prompt(name)
        if self._refused(found):
            raise Refused(f"{name} cannot be used: {refusal_of(found.findings)}", rule="screening")
        return found

    def check(self, uri: str, server: str) -> None:
        """Raises `Refused` for a resource whose own texts, or those of a template it fits, were refused."""
        if not self._refuse:
            return
        left = MAX_COMPARED
        for spec in self.all_resources:
            if spec.server != server or not spec.findings:
                continue
            left -= len(uri) + 1
            # What there is no time to compare is not let through.
            if left < 0 or spec.uri == uri or self._fits(uri, spec):
                raise Refused(f"{uri[:200]!r} cannot be read: {refusal_of(spec.findings)}", rule="screening")

    def _fits(self, uri: str, spec: ResourceSpec) -> bool:
        patterns = (held.patterns.get(spec.uri_template) for held in self.offers if held.server == spec.server)
        return any(pattern is not None and pattern.matches(uri) for pattern in patterns)

    def server_of(self, uri: str) -> str:
        """The one server that lists this URI, or else the one whose template it fits. Raises `UnknownResource`."""
        servers = tuple(held.server for held in self.offers if uri in held.resources) or self._fitting(uri)
        if len(servers) == 1:
            return servers[0]
        raise self._undecided(uri, servers)

    def template(self, text: str, server: str | None = None) -> ResourceSpec | None:
        """The one template, or resource, written exactly like this."""
        found = [spec for spec in self.resources if spec.address == text and server in {None, spec.server}]
        return found[0] if len(found) == 1 else None

    def _fitting(self, uri: str) -> tuple[str, ...]:
        left = MAX_COMPARED
        fitting: list[str] = []
        for held in self.offers:
            for pattern in held.patterns.values():
                if not uri.startswith(pattern.prefix):
                    continue
                left -= len(uri) + 1
                if left < 0:
                    return tuple(fitting)
                if pattern.matches(uri):
                    fitting.append(held.server)
                    break
        return tuple(fitting)

    def _undecided(self, uri: str, servers: tuple[str, ...]) -> UnknownResource:
        shown = f"{uri[:200]!r}"
        if servers:
            message = f"{shown} could be of {' or '.join(servers)}"
            return UnknownResource(message, servers=servers, fix="say which with `server`")
        having = tuple(held.server for held in self.offers if held.resources or held.templates)
        hint = f"; resources are offered by {', '.join(having)}" if having else "; no server offers any"
        fix = "run `bascule list --resources` to see all" + (
            "; or say with `server` which one to ask" if having else ""
        )
        return UnknownResource(f"no server lists {shown}{hint}", servers=having, fix=fix)

    def _unknown_prompt(self, name: str) -> UnknownPrompt:
        shown, problem = f"{name[:80]!r}", self._collisions.get(name)
        if problem is not None:
            return UnknownPrompt(f"{shown} is not exposed: {problem}", fix="set `prefix` on one of the servers")
        nearest = nearest_names(name, (prompt.name for prompt in self.prompts))
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        fix = "run `bascule list --prompts` to see all prompts"
        return UnknownPrompt(f"there is no prompt {shown}{hint}", nearest=nearest, fix=fix)

    def _status(self, prompt: PromptSpec) -> PromptSpec:
        problem = self._collisions.get(prompt.name)
        if problem is not None:
            return replace(prompt, status=ToolStatus.COLLIDING, problem=problem)
        if self._refused(prompt):
            return replace(prompt, status=ToolStatus.QUARANTINED, problem=refusal_of(prompt.findings))
        return prompt

    def _refused(self, spec: ResourceSpec | PromptSpec) -> bool:
        return self._refuse and bool(spec.findings)


def _table(prompts: Iterable[PromptSpec]) -> tuple[dict[str, PromptSpec], dict[str, str]]:
    """The prompts that have their name alone, and the names that several would have."""
    by_name: dict[str, list[PromptSpec]] = defaultdict(list)
    for prompt in prompts:
        by_name[prompt.name].append(prompt)
    alone = {name: found[0] for name, found in by_name.items() if len(found) == 1}
    shared = {name: found for name, found in by_name.items() if len(found) > 1}
    return alone, {name: collision_problem(name, (str(one.key) for one in found)) for name, found in shared.items()}
