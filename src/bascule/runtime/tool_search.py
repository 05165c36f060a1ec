"""Tool search of an agent session, and the two meta-tools that it is given in place of too many tools. Both, and every
tool by its own name, stay callable when the number changes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from math import inf
from time import perf_counter as now
from typing import Any, TypeVar

import msgspec

from bascule.catalog.entry import Entry
from bascule.catalog.search.index import Found
from bascule.catalog.search.meta_tools import CALL, OURS, SEARCH, USUALLY_FOUND, search_pair
from bascule.catalog.search.results import shown
from bascule.catalog.toolbox import Toolbox
from bascule.core.call import ToolCall
from bascule.core.errors import BasculeError, InvalidArguments, ReplyTimeout, UsageError
from bascule.core.json_types import JsonObject, is_object
from bascule.core.outcome import Outcome, ToolFailure, ToolResult
from bascule.core.rendering import render_structured
from bascule.core.tool import ToolSpec
from bascule.runtime.call_state import Trail
from bascule.runtime.execution.executor import Executor
from bascule.runtime.prepared_call import values_of
from bascule.runtime.requests.tool_call import TOOL_CALL, prepare
from bascule.runtime.servers.status import session_ended
from bascule.runtime.session_context import Standing

PAIR = frozenset({SEARCH, CALL})

Done = TypeVar("Done", ToolResult, str)

MANY = 500
"""Tools from which they are indexed in a thread: nobody else would be served meanwhile."""


async def found(toolbox: Toolbox, words: str, limit: int) -> Found:
    """What fits some words, among the tools of one toolbox."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"a limit is a whole number above 0, not {limit!r}")
    large = not toolbox.indexed and len(toolbox.specs()) > MANY
    index = await asyncio.to_thread(toolbox.index) if large else toolbox.index()
    return index.find(words, limit)


class Searching:
    """The pair, for one agent session."""

    def __init__(
        self, standing: Standing, executor: Executor, listed: Callable[[], Awaitable[tuple[ToolSpec, ...]]], above: int
    ) -> None:
        self._standing = standing
        self._executor = executor
        self._listed = listed
        self._above = above

    def offered(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """What an agent is given in place of all these. A server's own tool may have one of the two names: then all are
        reached through the pair, so that each name means one thing."""
        if len(tools) <= self._above and not any(tool.name in PAIR for tool in tools):
            return tools
        return tuple(entry.spec for entry in search_pair(_servers(tools)))

    def call(self, call: ToolCall) -> Coroutine[Any, Any, Outcome]:
        if call.name == SEARCH:
            return self._recorded(call, partial(self._search, call))
        given = call.arguments.get("arguments")
        # Copied now, like the arguments of every call.
        return self._pass_on(call, dict(given) if is_object(given) else given)

    async def _pass_on(self, call: ToolCall, arguments: Any) -> Outcome:
        """The very outcome of the call that is meant: it takes the same way, and is recorded under its own name."""
        name = await self._recorded(call, partial(self._meant, call, arguments))
        if isinstance(name, ToolFailure):
            return name
        meant = ToolCall(name, arguments or {}, call.timeout, call.on_progress, call.respondent)
        return await self._executor.carry(self._standing, TOOL_CALL, meant)

    async def _recorded(self, call: ToolCall, work: Callable[[Trail], Awaitable[Done]]) -> Done | ToolFailure:
        """What came of work that needs no server. An outcome is recorded like that of every call."""
        standing, trail = self._standing, Trail(call)
        trail.server, trail.native = OURS, True
        telemetry = self._executor.telemetry
        if telemetry is not None:
            trail.span = telemetry.begin()
        done: Done | ToolFailure
        try:
            done = await work(trail)
        except BasculeError as error:
            done = trail.failure(error)
        except BaseException as end:
            self._executor.tell(standing, TOOL_CALL, trail, trail.cut_short(end))
            raise
        finally:
            if telemetry is not None and trail.span is not None:
                telemetry.leave(trail.span)
        if isinstance(done, ToolResult | ToolFailure):
            self._executor.tell(standing, TOOL_CALL, trail, done)
        return done

    async def _search(self, call: ToolCall, trail: Trail) -> ToolResult:
        given = _checked(search_pair()[0], call, trail, "say in `words` what the tool should do")
        try:
            async with asyncio.timeout(call.timeout):
                await self._listed()
        except TimeoutError:
            raise ReplyTimeout(
                f"the tools were not listed within {call.timeout:g} s", phase="list", timeout=call.timeout or 0.0
            ) from None
        trail.lane = self._standing.ratchet.lane
        if self._standing.ratchet.ended:
            raise session_ended()
        trail.mark(("list", now()))
        toolbox = self._standing.toolbox
        answer = shown(
            await found(toolbox, given["words"], given.get("limit", USUALLY_FOUND)), _servers(toolbox.specs())
        )
        trail.mark(("search", now()))
        text = {"type": "text", "text": render_structured(answer, "yaml")}
        return ToolResult({"content": [text], "structuredContent": answer}, OURS, SEARCH, trail.lane, trail.steps)

    async def _meant(self, call: ToolCall, arguments: Any, trail: Trail) -> str:
        """The name of the tool that is to be called. What it takes is its own affair, and checked when it is called."""
        outer: JsonObject = {**call.arguments, "arguments": {}} if is_object(arguments) else call.arguments
        fix = "give the name of the tool, and its own arguments as an object in `arguments`"
        given = _checked(search_pair()[1], msgspec.structs.replace(call, arguments=outer, timeout=None), trail, fix)
        name: str = given["name"]
        if name in PAIR and not await self._is_a_servers(name):
            told = f"{CALL} calls the tools that {SEARCH} finds, and {name} is none of them"
            raise InvalidArguments(
                told, fix=f"call {SEARCH} itself" if name == SEARCH else f"name the tool itself in {CALL}"
            )
        return name

    async def _is_a_servers(self, name: str) -> bool:
        """Whether a server has a tool of its own by one of our names."""
        await self._listed()
        return self._standing.toolbox.has(name)


def _checked(entry: Entry, call: ToolCall, trail: Trail, fix: str) -> JsonObject:
    """The arguments of a call of one of the two, as JSON has them."""
    trail.spec = entry.spec
    if call.timeout is not None and not 0 < call.timeout < inf:
        raise UsageError(f"a timeout is a positive number of seconds, not {call.timeout}")
    try:
        trail.prepared = prepare(entry, call)
    except InvalidArguments as error:
        raise InvalidArguments(error.message, evidence=error.evidence, fix=fix) from None
    trail.mark(("validate", now()))
    return values_of(trail.prepared)


def _servers(tools: tuple[ToolSpec, ...]) -> tuple[str, ...]:
    return tuple(sorted({tool.key.server for tool in tools}))
