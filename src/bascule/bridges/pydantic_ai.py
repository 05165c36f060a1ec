"""Bridge to PydanticAI: an agent session's tools, `Agent(model, toolsets=[toolset(session)])`, and a client of one
configured server that moves to its isolated instance once private data has been seen."""

import asyncio
import os
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, get_args

from bascule.config import RuntimeConfig, Secret, ServerConfig, client_server_named, load_file
from bascule.config.locate import locate
from bascule.config.model.transport import RemoteTransport, Transport
from bascule.core.errors import NotIdentified, UsageError, missing
from bascule.core.failure_action import Reaction, reaction, stopped, told
from bascule.core.json_types import JsonObject, as_array, as_object, as_text
from bascule.core.outcome import ToolFailure, ToolResult
from bascule.core.principal import Principal
from bascule.core.tool import ToolSpec
from bascule.identity.current import CURRENT
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession

try:
    from pydantic_ai import BinaryContent, CustomEvent, ModelRetry, RunContext, ToolDefinition, ToolFailed
    from pydantic_ai.messages import AudioMediaType, ImageMediaType
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ModuleNotFoundError as error:
    if error.name != "pydantic_ai":
        raise
    raise missing("PydanticAI", "pydantic-ai", error) from error

ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""Lets every object pass, for all tools: arguments are checked against the tool's own schema on the way of the call.
What is no object goes back to the model here."""

FILES = {"image": frozenset[str](get_args(ImageMediaType)), "audio": frozenset[str](get_args(AudioMediaType))}
"""What can be shown as itself. PydanticAI knows no other kinds, and a request with one of those would fail: they are
named in the text instead."""


@dataclass(kw_only=True)
class ToolProgress(CustomEvent, name="bascule.progress"):
    """How far a tool has come, in the run's stream of events."""

    progress: float
    total: float | None = None
    message: str | None = None


def toolset(
    session: AgentSession, *, max_retries: int | None = None, structured: bool = False
) -> "SessionToolset[Any]":
    """The session's tools, for `Agent(toolsets=[…])` or for one `run`.

    `max_retries` is how often in a row a model may try again after a failure that can pass; without it the agent's own
    number holds. A model is shown results as text; with `structured` it is given the structured content of those that
    have some, and told of its schema where the agent includes these.
    """
    return SessionToolset(lambda: session, max_retries=max_retries, structured=structured)


class SessionToolset(AbstractToolset[AgentDepsT]):
    """The tools of one agent session, which `whose` gives. Agents ask for them anew before every request to a model."""

    def __init__(
        self, whose: Callable[[], AgentSession], *, max_retries: int | None = None, structured: bool = False
    ) -> None:
        self._whose = whose
        self._max_retries = max_retries
        self._structured = structured
        self._defined: dict[str, tuple[ToolSpec, ToolDefinition]] = {}

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        retries = ctx.max_retries if self._max_retries is None else self._max_retries
        specs = await self._whose().offered()
        self._defined = {spec.name: (spec, self._definition(spec)) for spec in specs}
        return {
            name: ToolsetTool(toolset=self, tool_def=defined, max_retries=retries, args_validator=ANY_OBJECT)
            for name, (_, defined) in self._defined.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        del tool

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            await ctx.emit(ToolProgress(progress=progress, total=total, message=message))

        outcome = await self._whose().call(name, tool_args, on_progress=on_progress)
        if isinstance(outcome, ToolFailure):
            raise SIGNALS[reaction(outcome)](outcome)
        return outcome.structured if self._structured and outcome.structured is not None else shown(outcome)

    def _definition(self, spec: ToolSpec) -> ToolDefinition:
        """Made once for as long as the tool stays as it is."""
        known = self._defined.get(spec.name)
        return known[1] if known is not None and known[0] == spec else definition(spec, promised=self._structured)


SIGNALS: Mapping[Reaction, Callable[[ToolFailure], Exception]] = {
    Reaction.RETRY: lambda failure: ModelRetry(told(failure)),
    Reaction.MOVE_ON: lambda failure: ToolFailed(told(failure)),
    # Whatever else a tool raises ends the run, and comes out of it as it is.
    Reaction.STOP: stopped,
}


def definition(spec: ToolSpec, *, promised: bool = False) -> ToolDefinition:
    """A tool as a model is told of it, with what filters may want to know beside it. Only `promised` ones say what they
    give back: text is not what their schema describes."""
    return ToolDefinition(
        name=spec.name,
        description=spec.description or spec.title,
        parameters_json_schema=dict(spec.plain_schema),
        return_schema=dict(spec.output_schema) if promised and spec.output_schema is not None else None,
        metadata={
            "server": spec.key.server,
            "tool": spec.key.tool,
            "permissions": sorted(spec.permissions),
            "annotations": dict(spec.annotations),
        },
    )


def shown(result: ToolResult) -> str | list[str | BinaryContent]:
    """What a model is shown: the text, and after it the pictures and sounds that the text only names."""
    files = [*_files(result.raw)]
    return [result.text, *files] if files else result.text


def _files(raw: JsonObject) -> Iterator[BinaryContent]:
    for block in map(as_object, as_array(raw.get("content"))):
        kind, data = as_text(block.get("mimeType")) or "", as_text(block.get("data"))
        if data is None or kind not in FILES.get(as_text(block.get("type")) or "", ()):
            continue
        try:
            yield BinaryContent(b64decode(data, validate=True), media_type=kind)
        except ValueError:
            # Not what it says it is. It stays named in the text.
            continue


def get_mcp_client(
    name: str,
    config_path: str | Path | None = None,
    bearer_token: str | None = None,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    max_retries: int | None = None,
) -> "ClientToolset[Any]":
    """A toolset of one server, `mcp_servers.<name>` of a config file: of the one that is named, or that commands would
    use. The server and its isolated instance are shown the token.

    It is the agent session's on whose behalf the code runs that first enters it (`get_user_id()`, `get_session_id()`);
    where that is nobody's, the ids must be given. Once private data has come up in that agent session, here or
    elsewhere, calls go to the isolated instance (`url_isolated`), for good.
    """
    if (user_id is None) != (session_id is None):
        raise UsageError("user_id and session_id go together", fix="give both, or neither")
    named = Principal(user_id, session_id) if user_id is not None and session_id is not None else None
    config = load_file(config_path if config_path is not None else locate(None, os.environ), os.environ)
    server = client_server_named(config, name)
    if server.unavailable_reason is not None:
        raise server.unavailable_reason
    if bearer_token is not None:
        server = with_token(server, bearer_token)
    return ClientToolset(replace(config, servers={name: server}), named, max_retries=max_retries)


class ClientToolset(SessionToolset[AgentDepsT]):
    """One server, used on behalf of one agent session, by a runtime that lives while somebody has entered this."""

    def __init__(self, config: RuntimeConfig, named: Principal | None, *, max_retries: int | None = None) -> None:
        super().__init__(self._session, max_retries=max_retries)
        self._config = config
        self._principal = named
        self._runtime: Runtime | None = None
        self._entered = 0
        self._turn = asyncio.Lock()

    @property
    def id(self) -> str | None:
        return next(iter(self._config.servers))

    async def __aenter__(self) -> Self:
        """Agents enter it for each run; whoever enters it around several runs keeps its links open between them."""
        async with self._turn:
            self._principal = self._principal_now()
            if self._runtime is None:
                runtime = Runtime(self._config)
                self._runtime = await runtime.__aenter__()
            self._entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            self._entered -= 1
            if self._entered == 0 and self._runtime is not None:
                runtime, self._runtime = self._runtime, None
                await runtime.close()

    def _session(self) -> AgentSession:
        if self._runtime is None:
            raise UsageError("this client is not open", fix="use it in an `async with` block, or in a run of an agent")
        principal = self._principal_now()
        return self._runtime.session(principal.user_id, principal.session_id)

    def _principal_now(self) -> Principal:
        """It stays that one's: it holds their token, and has seen what they have seen."""
        asking, own = CURRENT.get(), self._principal
        if asking is not None and own is not None and asking != own:
            raise NotIdentified(
                "this client is another agent session's than the one on whose behalf this runs",
                rule="identified",
                fix="make a client for each agent session",
            )
        principal = own or asking
        if principal is None:
            raise NotIdentified(
                "it is not known on whose behalf this client is used",
                rule="identified",
                fix="use it in the course of a request that was let in, or give user_id=… and session_id=…",
            )
        return principal


def with_token(server: ServerConfig, token: str) -> ServerConfig:
    """The same server, and its twin, shown this token with every request. A server of our kit is not told anything else
    then: the token says on whose behalf it is asked."""
    if not token.strip():
        raise UsageError("bearer_token is empty", fix="give the token, or None for a server that wants none")
    if not isinstance(server.transport, RemoteTransport):
        raise UsageError(
            f"{server.name} is no server that is shown a token: it is reached by {server.transport.kind}",
            where=server.location,
            fix="leave bearer_token out",
        )
    isolated = None if server.isolated is None else _showing(server.isolated, token)
    return replace(server, kit=False, transport=_showing(server.transport, token), isolated=isolated)


def _showing(transport: Transport, token: str) -> Transport:
    if not isinstance(transport, RemoteTransport):
        return transport
    kept = {name: value for name, value in transport.headers.items() if name.lower() != "authorization"}
    return replace(transport, headers={**kept, "Authorization": Secret(f"Bearer {token}")})
