"""Bridge to the Claude Agent SDK: an agent session's tools as an in-process MCP server for
`ClaudeAgentOptions(mcp_servers=…)`, and the hooks that end a run."""

import re
from base64 import b64decode
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from typing import Any, cast

from bascule import __version__
from bascule.core.errors import UsageError, missing
from bascule.core.failure_action import Reaction, reaction, stopped, told
from bascule.core.json_types import JsonObject, as_array, as_object, as_text
from bascule.core.outcome import Outcome, ToolFailure, ToolResult
from bascule.core.permission import READING
from bascule.core.tool import ToolSpec
from bascule.runtime.session import AgentSession

try:
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        HookContext,
        HookInput,
        HookJSONOutput,
        HookMatcher,
        McpSdkServerConfig,
        Message,
        ToolResultBlock,
        UserMessage,
    )
except ModuleNotFoundError as error:
    if error.name != "claude_agent_sdk":
        raise
    raise missing("The Claude Agent SDK", "claude", error) from error

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams, PaginatedRequestParams

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What can be shown as itself. The model's API takes no other kinds, and a request with one of those would fail: they
are named in the text instead."""

CALL_ID = "claudecode/toolUseId"
"""Under which the CLI says, with a call, which of the model's it is."""

UNKNOWN = ""
"""Stands for the call's id where a CLI does not say it: then whichever run is asked about next is ended."""

REMEMBERED = 100
"""Calls whose failures are kept, for hooks to find. An agent without them never asks."""

_SERVER_NAME = re.compile(r"[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
"""What stands between the two double underscores of `mcp__<server>__<tool>`."""


def options(session: AgentSession, *, server: str = "tools", **more: Any) -> ClaudeAgentOptions:
    """Options with which an agent has the session's tools, may use all of them, and ends its run where one says so.

    `more` are options of the SDK's own. Unless they say otherwise, the agent has no other tools: those that come with
    it, and servers in somebody's settings, are not governed.
    """
    given: Any = more.pop("mcp_servers", None) or {}
    if not isinstance(given, dict) or server in given:
        raise UsageError(
            f"there is no place for a server called {server!r} in mcp_servers",
            fix="give mcp_servers as a dict of other servers, or another name as server=…",
        )
    ours = sdk_server(session, server)
    stopping: dict[Any, list[HookMatcher]] = {**(more.pop("hooks", None) or {})}
    for event, matchers in hooks(ours).items():
        stopping[event] = [*matchers, *stopping.get(event, ())]
    settings: dict[str, Any] = {"tools": [], "strict_mcp_config": True, **more}
    settings["allowed_tools"] = [*more.get("allowed_tools", ()), f"mcp__{server}"]
    return ClaudeAgentOptions(mcp_servers={**cast("dict[str, Any]", given), server: ours}, hooks=stopping, **settings)


def sdk_server(session: AgentSession, name: str = "tools") -> McpSdkServerConfig:
    """The session's tools as a server in this process, for `ClaudeAgentOptions(mcp_servers={"tools": …})`.

    A failure that ends the run ends it only with `hooks` of this server; else it is an error like every other.
    """
    if not _SERVER_NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a server here", fix="use letters, digits and single _ or -")
    return McpSdkServerConfig(type="sdk", name=name, instance=SessionServer(session, name))


def hooks(server: McpSdkServerConfig) -> dict[Any, list[HookMatcher]]:
    """What ends a run in which a call of this server's tools has failed for good: `ClaudeAgentOptions(hooks=…)`."""
    ours = server_of(server)
    if ours is None:
        raise UsageError("these are the hooks of another server than sdk_server makes", fix="give what it returned")
    return {"PostToolBatch": [HookMatcher(hooks=[ours.after_batch])]}


async def tool_names(session: AgentSession, server: str = "tools") -> list[str]:
    """The session's tools as `allowed_tools`, hooks and messages call them."""
    return [f"mcp__{server}__{spec.name}" for spec in await session.offered()]


async def watched(messages: AsyncIterable[Message], given: ClaudeAgentOptions) -> AsyncGenerator[Message]:
    """The messages of a run with these options, from `query` or a client's `receive_response`. Where a tool of ours has
    ended it, `RunStopped` comes after the last: the SDK itself says no more than that a hook did."""
    servers = [ours for config in _servers(given) if (ours := server_of(config)) is not None]
    failure: ToolFailure | None = None
    async for message in messages:
        yield message
        for call in _answered(message):
            failure = next((ours.stops[call] for ours in servers if call in ours.stops), failure)
    # Not before the end, which comes by itself: only then has the CLI been seen off.
    if failure is not None:
        raise stopped(failure)


def _servers(given: ClaudeAgentOptions) -> Iterator[Any]:
    if isinstance(given.mcp_servers, dict):
        yield from given.mcp_servers.values()


def _answered(message: Message) -> Iterator[str]:
    """The calls whose results a message brings."""
    if isinstance(message, UserMessage) and not isinstance(message.content, str):
        yield from (block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock))


def server_of(config: Any) -> "SessionServer | None":
    """Ours, if it is one."""
    instance = as_object(config).get("instance")
    return instance if isinstance(instance, SessionServer) else None


class SessionServer(Server[Any]):
    """One agent session as an MCP server without a wire. `stops` are the failures that end a run, by the id of the
    model's call."""

    def __init__(self, session: AgentSession, name: str) -> None:
        super().__init__(name, version=__version__)
        self._session = session
        self.stops: dict[str, ToolFailure] = {}
        # As dicts, which are checked once on their way out; made of models, each would be taken apart for that first.
        self.add_request_handler("tools/list", PaginatedRequestParams, self._list)
        self.add_request_handler("tools/call", CallToolRequestParams, self._call)

    async def after_batch(self, given: HookInput, _call: str | None, _context: HookContext) -> HookJSONOutput:
        """The CLI asks after all calls of one of the model's turns, and before its next one."""
        calls = [as_object(call).get("tool_use_id") for call in as_array(as_object(given).get("tool_calls"))]
        failure = next((self.stops[call] for call in calls if call in self.stops), self.stops.pop(UNKNOWN, None))
        return {} if failure is None else {"continue_": False, "stopReason": failure.message}

    async def _list(self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None) -> JsonObject:
        return {"tools": [listed(spec) for spec in await self._session.offered()]}

    async def _call(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> JsonObject:
        outcome = await self._session.call(params.name, params.arguments)
        if isinstance(outcome, ToolFailure) and reaction(outcome) is Reaction.STOP:
            self._remember(str(as_object(context.meta).get(CALL_ID, UNKNOWN)), outcome)
        return answered(outcome)

    def _remember(self, call: str, failure: ToolFailure) -> None:
        self.stops[call] = failure
        if len(self.stops) > REMEMBERED:
            del self.stops[next(iter(self.stops))]


def listed(spec: ToolSpec) -> JsonObject:
    """A tool as the CLI is told of it. Whether it only reads is what the operator says, or believes the server."""
    return {
        "name": spec.name,
        "description": spec.description or spec.title or "",
        "inputSchema": dict(spec.plain_schema),
        "annotations": {"readOnlyHint": spec.permissions <= READING, **({"title": spec.title} if spec.title else {})},
    }


def answered(outcome: Outcome) -> JsonObject:
    """What came of a call, as a model is shown it: a result, or words about why there is none."""
    if isinstance(outcome, ToolFailure):
        # There is one signal for all failures. Whether to try again, the model has to read.
        return {"content": [_words(told(outcome))], "isError": True}
    # The model's API takes no text without a letter.
    return {"content": [*([_words(outcome.text)] if outcome.text.strip() else []), *_pictures(outcome)]}


def _words(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _pictures(result: ToolResult) -> Iterator[JsonObject]:
    for block in map(as_object, as_array(result.raw.get("content"))):
        data, kind = as_text(block.get("data")), block.get("mimeType")
        if block.get("type") == "image" and data is not None and kind in PICTURES and _is_base64(data):
            yield {"type": "image", "data": data, "mimeType": kind}


def _is_base64(data: str) -> bool:
    try:
        return bool(b64decode(data, validate=True))
    except ValueError:
        return False
