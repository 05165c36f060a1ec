"""Tool call operation: arguments, headers, and the checks of its result."""

from collections.abc import Awaitable, Mapping

import msgspec

from bascule.catalog.call_checks import check_arguments, check_result
from bascule.catalog.entry import Entry
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.call import ToolCall
from bascule.core.events import ToolInvoked
from bascule.core.json_types import JsonObject
from bascule.core.outcome import TaskResult, ToolFailure, ToolResult
from bascule.runtime.call_state import Trail
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.requests.operation import Operation
from bascule.runtime.session_context import Standing
from bascule.wire.results import read_fatal, take_outcome
from bascule.wire.task import TASK, read_task


def _find(standing: Standing, call: ToolCall) -> Awaitable[Entry]:
    return standing.resolve(call.name)


def prepare(entry: Entry, call: ToolCall) -> Prepared:
    """Fix what will travel: the caller may change the arguments while the call waits."""
    data = check_arguments(entry, call.arguments)
    key = entry.spec.key
    return Prepared(
        "tools/call",
        key.server,
        {"name": key.tool, "arguments": msgspec.Raw(data)},
        call.timeout,
        call.on_progress,
        _headers(entry, call) if entry.headers else {},
    )


def _headers(entry: Entry, call: ToolCall) -> Mapping[str, str]:
    from mcp.shared.inbound import mcp_param_headers  # noqa: PLC0415 -- takes a second, and hardly a tool has them

    return mcp_param_headers(entry.headers, call.arguments)


def _read(standing: Standing, entry: Entry, raw: JsonObject, trail: Trail) -> ToolResult | ToolFailure:
    return _judged(standing, entry, raw, trail, standing.roster.servers.get(trail.server))


def _judged(
    standing: Standing, entry: Entry, raw: JsonObject, trail: Trail, config: ServerConfig | None
) -> ToolResult | ToolFailure:
    """`config` is None if the server was removed meanwhile."""
    server = trail.server
    style = config.render if config is not None else "yaml"
    outcome = take_outcome(raw, server, trail.tool, trail.lane, trail.steps, style)
    if isinstance(outcome, ToolFailure):
        if "fatal" in standing.config(server).trust:
            # From any other it is an error like every other: who can end a run could keep agents from working.
            outcome = read_fatal(outcome, raw)
        return standing.mask_of(server).failure(outcome)
    if entry.results is not None:
        check_result(entry, raw)
    return outcome


def read_within(standing: Standing, entry: Entry, raw: JsonObject, trail: Trail) -> ToolResult | ToolFailure:
    if raw.get("resultType") == TASK and trail.respondent is not None and trail.respondent.tasks:
        task_id, state = read_task(raw, trail.server, trail.tool)
        return TaskResult(
            {}, trail.server, trail.tool, trail.lane, trail.steps, name=trail.name, task_id=task_id, task=state
        )
    config = standing.roster.servers.get(trail.server)
    outcome = _judged(standing, entry, raw, trail, config)
    if config is not None:
        # After the check: what a server promises it promises of the whole.
        trail.preset = config.limit
    return outcome


TOOL_CALL: Operation[ToolCall, Entry, ToolResult] = Operation(
    Standing.known, _find, prepare, read_within, ToolInvoked, of_tools=True, wrapped=True, tasks=True
)

INNER_CALL: Operation[ToolCall, Entry, ToolResult] = Operation(
    Standing.known, _find, prepare, _read, ToolInvoked, of_tools=True, passes_on=False
)
"""A tool called by the wrapper around it, who is shown the whole result: what of that goes on is limited then."""
