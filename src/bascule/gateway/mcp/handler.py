"""Method dispatch of the MCP endpoint for one agent session: tool calls, resources, prompts, completion and their
lists. Every request goes through the agent session, and so through the one executor."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from bascule import __version__
from bascule.core.client_features import TASKS, Respondent
from bascule.core.json_types import JsonObject, is_object
from bascule.core.outcome import TaskResult, ToolFailure
from bascule.core.prompt import PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolSpec
from bascule.gateway.errors import Rejected
from bascule.gateway.limits import Allowance
from bascule.gateway.mcp.client import Client, Listener, progress_to
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.input_rounds import Carry, Rounds
from bascule.gateway.mcp.log_messages import heard
from bascule.gateway.mcp.results import failed_call, failed_request, result_of
from bascule.gateway.mcp.tasks import Tasks
from bascule.identity.signed_state import Seal
from bascule.runtime.session import AgentSession
from bascule.wire.request_meta import INVALID_PARAMS, METHOD_NOT_FOUND, NEW_VERSIONS, OLD_VERSIONS

SERVER_INFO = {"name": "bascule", "title": "Bascule", "version": __version__}
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"

CAPABILITIES: JsonObject = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}

REACHING = frozenset({"tools/call", "resources/read", "prompts/get", "completion/complete"})
"""Requests in whose course a server may remark something."""

FRESH: JsonObject = {"ttlMs": 0, "cacheScope": "private"}
"""Lists are each principal's own, and follow what servers change: nobody may keep them."""

Served = JsonObject | msgspec.Raw


class Desk:
    """One agent session, asked by clients."""

    def __init__(self, session: AgentSession, seal: Seal) -> None:
        self.session = session
        self.allowance = Allowance()
        self._rounds = Rounds(session.principal, seal, session.deliverable)
        self._carried: dict[str, Carry] = {
            "tools/call": self._call,
            "resources/read": self._read,
            "prompts/get": self._prompt,
        }
        shared: dict[str, Callable[[Asked], Awaitable[Served]]] = {
            "tools/list": self._tools,
            "resources/list": self._resources,
            "resources/templates/list": self._templates,
            "prompts/list": self._prompts,
            "completion/complete": self._complete,
        }
        self._tasks_of = Tasks(session, seal)
        self._new = {"server/discover": self._discover, **self._tasks_of.served, **shared}
        self._old = {"initialize": self._initialize, "ping": self._nothing, **shared}
        self._listed: tuple[tuple[str, ...], dict[bool, msgspec.Raw]] = ((), {})

    def serve(self, asked: Asked, client: Client | None = None) -> Awaitable[Served]:
        """The result. Raises `Rejected`."""
        if client is not None and client.level and client.streams and asked.method in REACHING:
            return self._heard(asked, client)
        return self._served(asked, client)

    async def _heard(self, asked: Asked, client: Client) -> Served:
        if asked.new:
            # Of the old era, a client says so once for all its requests.
            await self.session.tune(client.level)
        return await heard(self.session, client, self._served(asked, client))

    def _served(self, asked: Asked, client: Client | None) -> Awaitable[Served]:
        carry = self._carried.get(asked.method)
        if carry is None:
            return self._answered(asked)
        if client is None or not (client.capabilities or "requestState" in asked.params):
            return carry(asked, client, None)
        return self._rounds.serve(asked, client, carry)

    async def _answered(self, asked: Asked) -> Served:
        serve = (self._new if asked.new else self._old).get(asked.method)
        if serve is None:
            unknown = f"Method not found: {asked.method[:100]}"
            raise Rejected(METHOD_NOT_FOUND, unknown, status=None if asked.new else 200)
        result = await serve(asked)
        if asked.new and isinstance(result, dict):
            result.setdefault("resultType", "complete")
        return result

    async def _call(self, asked: Asked, client: Listener | None, respondent: Respondent | None) -> JsonObject:
        params, headers = asked.params, asked.headers
        name = _text(params, "name")
        arguments: JsonObject | None = params.get("arguments")
        if arguments is not None and not isinstance(params["arguments"], dict):
            raise Rejected(INVALID_PARAMS, "arguments must be an object")
        if headers is not None and self.session.wants_headers(name):
            await self._check_headers(name, arguments or {}, headers)
        token = asked.progress_token
        on_progress = (
            progress_to(client, token) if token is not None and client is not None and client.streams else None
        )
        outcome = await self.session.call(name, arguments, on_progress=on_progress, respondent=respondent)
        if isinstance(outcome, ToolFailure):
            if outcome.asks:
                return self._rounds.passed_on(asked, outcome, respondent)
            return failed_call(outcome, new=asked.new)
        if isinstance(outcome, TaskResult):
            return self._tasks_of.begun(outcome)
        return result_of(outcome, new=asked.new)

    async def _check_headers(self, name: str, arguments: JsonObject, headers: Mapping[str, str]) -> None:
        """Arguments that a tool wants repeated as headers must be there, and the same. Most tools want none."""
        if not self.session.toolbox.has(name):
            # Nobody has asked for it yet, so it is not known what it wants.
            await self.session.find(name)
            if not self.session.toolbox.has(name):
                return
        entry = self.session.toolbox.resolve(name)
        if not entry.headers:
            return
        from mcp.shared.inbound import validate_mcp_param_headers  # noqa: PLC0415 -- hardly a tool has them

        wrong = validate_mcp_param_headers(entry.spec.input_schema, arguments, headers)
        if wrong is not None:
            raise Rejected(wrong.code, wrong.message)

    async def _tools(self, asked: Asked) -> Served:
        specs = await self.session.offered()
        known = tuple(part for spec in specs for part in (spec.name, spec.digest))
        if known != self._listed[0]:
            self._listed = (known, {})
        written = self._listed[1].get(asked.new)
        if written is None:
            written = self._listed[1][asked.new] = _page("tools", map(tool, specs), new=asked.new)
        return written

    async def _resources(self, asked: Asked) -> Served:
        specs = await self._offered_resources()
        return _page("resources", (resource(spec) for spec in specs if spec.uri), new=asked.new)

    async def _templates(self, asked: Asked) -> Served:
        specs = await self._offered_resources()
        listed = (template(spec) for spec in specs if spec.uri_template)
        return _page("resourceTemplates", listed, new=asked.new)

    async def _offered_resources(self) -> tuple[ResourceSpec, ...]:
        return await self.session.resources()

    async def _prompts(self, asked: Asked) -> Served:
        return _page("prompts", map(prompt, await self.session.prompts()), new=asked.new)

    async def _read(self, asked: Asked, _client: Listener | None, respondent: Respondent | None) -> JsonObject:
        outcome = await self.session.read(_text(asked.params, "uri"), respondent=respondent)
        if isinstance(outcome, ToolFailure):
            return self._not_yet(asked, outcome, respondent)
        result = result_of(outcome, new=asked.new)
        return {**result, **FRESH} if asked.new else result

    async def _prompt(self, asked: Asked, _client: Listener | None, respondent: Respondent | None) -> JsonObject:
        arguments = asked.params.get("arguments")
        if arguments is not None and not is_object(arguments):
            raise Rejected(INVALID_PARAMS, "arguments must be an object")
        outcome = await self.session.prompt(_text(asked.params, "name"), arguments, respondent=respondent)
        if isinstance(outcome, ToolFailure):
            return self._not_yet(asked, outcome, respondent)
        return result_of(outcome, new=asked.new)

    def _not_yet(self, asked: Asked, failure: ToolFailure, respondent: Respondent | None) -> JsonObject:
        """What is no failure yet, because its server only asks something first."""
        if failure.asks:
            return self._rounds.passed_on(asked, failure, respondent)
        raise failed_request(failure, new=asked.new, uri=asked.params.get("uri"))

    async def _complete(self, asked: Asked) -> JsonObject:
        ref, argument = asked.params.get("ref"), asked.params.get("argument")
        if not is_object(ref) or not is_object(argument):
            raise Rejected(INVALID_PARAMS, "completion wants `ref` and `argument`")
        about = _text(ref, "uri" if ref.get("type") == "ref/resource" else "name")
        context = asked.params.get("context")
        given = context.get("arguments") if is_object(context) else None
        known = {str(key): value for key, value in given.items() if isinstance(value, str)} if is_object(given) else {}
        outcome = await self.session.complete(about, _text(argument, "name"), _text(argument, "value"), known)
        if isinstance(outcome, ToolFailure):
            raise failed_request(outcome, new=asked.new)
        return result_of(outcome, new=asked.new)

    async def _discover(self, _asked: Asked) -> JsonObject:
        return {
            "supportedVersions": [*NEW_VERSIONS],
            "capabilities": {**CAPABILITIES, "extensions": {TASKS: {}}},
            "_meta": {SERVER_INFO_KEY: SERVER_INFO},
            **FRESH,
        }

    async def _initialize(self, asked: Asked) -> JsonObject:
        wanted = asked.params.get("protocolVersion")
        version = wanted if wanted in OLD_VERSIONS else OLD_VERSIONS[-1]
        return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": SERVER_INFO}

    async def _nothing(self, _asked: Asked) -> JsonObject:
        return {}


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


def _page(name: str, items: Iterable[Any], *, new: bool) -> msgspec.Raw:
    """All of it in one page, written once."""
    page: JsonObject = {name: [*items]}
    return msgspec.Raw(msgspec.json.encode({**page, **FRESH, "resultType": "complete"} if new else page))


def _text(params: JsonObject, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Rejected(INVALID_PARAMS, f"{name} must be text")
    return value
