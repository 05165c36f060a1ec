"""Task operations: requests about a task that a tool call has started. They are governed like that call, and stay on
its lane."""

from collections.abc import Awaitable
from functools import partial

import msgspec

from bascule.catalog.entry import Entry
from bascule.core.call import Inquiry
from bascule.core.errors import InvalidArguments
from bascule.core.events import RequestEnded
from bascule.core.json_types import JsonObject, as_object
from bascule.core.outcome import TaskResult, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey
from bascule.runtime.call_state import Trail
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.requests.operation import Operation
from bascule.runtime.requests.tool_call import read_within
from bascule.runtime.server_requests.parse import check_offered, read_question
from bascule.runtime.session_context import Standing
from bascule.wire.input_required import read_input_required
from bascule.wire.results import other_kind
from bascule.wire.task import GET, read_task, result_of_task


class TaskRef(msgspec.Struct, frozen=True):
    """Whose task it is, from the call that led to it."""

    task: str
    """The server's own id of it."""
    key: ToolKey
    name: str
    """The name by which the tool was called."""
    lane: Lane


def following(method: str, ref: TaskRef) -> Operation[Inquiry, Entry, TaskResult]:
    """One of the extension's three methods, for one task."""
    return Operation(
        Standing.known,
        _find,
        partial(_prepare, method, ref),
        partial(_read, method, ref),
        partial(RequestEnded, method),
        of_tools=True,
        rounds=False,
        tasks=True,
        follows=True,
    )


def _find(standing: Standing, inquiry: Inquiry) -> Awaitable[Entry]:
    return standing.resolve(inquiry.name)


def _prepare(method: str, ref: TaskRef, entry: Entry, inquiry: Inquiry) -> Prepared:
    if entry.spec.key != ref.key:
        raise InvalidArguments("the task is of a tool that has gone", fix="call the tool again")
    params = {"taskId": ref.task, **inquiry.arguments}
    return Prepared(method, ref.key.server, params, inquiry.timeout, lane=ref.lane)


def _read(method: str, ref: TaskRef, standing: Standing, entry: Entry, raw: JsonObject, trail: Trail) -> TaskResult:
    server, tool = trail.server, trail.tool
    kind = raw.get("resultType", "complete")
    if kind != "complete":
        raise other_kind(kind, server, tool)
    result = TaskResult({}, server, tool, trail.lane, trail.steps, name=ref.name, task_id=ref.task)
    if method != GET:
        return result
    _, state = read_task(raw, server, tool)
    match state["status"]:
        case "completed":
            return _completed(result, state, read_within(standing, entry, result_of_task(raw, server, tool), trail))
        case "failed":
            state["error"] = standing.mask_of(server).value(as_object(raw.get("error")))
        case "input_required":
            state["inputRequests"] = _questions(standing, raw, trail)
        case _:
            pass
    return msgspec.structs.replace(result, task=state)


def _completed(result: TaskResult, state: JsonObject, outcome: ToolResult | ToolFailure) -> TaskResult:
    if isinstance(outcome, ToolFailure):
        return msgspec.structs.replace(result, task=state, failure=outcome)
    return msgspec.structs.replace(result, raw=outcome.raw, style=outcome.style, task=state)


def _questions(standing: Standing, raw: JsonObject, trail: Trail) -> JsonObject:
    """Nothing but what the caller offers to answer, and what could be put to somebody."""
    wanted = read_input_required(raw).questions
    assert trail.respondent is not None
    for question in wanted.values():
        check_offered(trail.server, trail.respondent, question)
        read_question(trail.server, standing.principal, question)
    return {key: {"method": question.method, "params": question.params} for key, question in wanted.items()}
