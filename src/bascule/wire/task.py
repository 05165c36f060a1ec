"""Tasks extension of MCP: shapes of a result that arrives later and is polled by its task id."""

from bascule.core.client_features import TASKS
from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import JsonObject, is_object

TASK = "task"
"""The kind of a result that only says that there is a task."""

GET, UPDATE, CANCEL = "tasks/get", "tasks/update", "tasks/cancel"

STATUSES = frozenset({"working", "input_required", "completed", "failed", "cancelled"})

MAX_ID = 4096
"""Characters of a server's id of a task. It travels with every question after it."""

_STATE = ("status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs")


def read_task(raw: JsonObject, server: str, tool: str) -> tuple[str, JsonObject]:
    """The server's id of a task, and how it stands. What it may bring at its end is not among that. Raises
    `ProtocolViolation` for what no task may look like."""
    name = raw.get("taskId")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_ID:
        raise _malformed(server, tool, "it has no taskId that could be used")
    if raw.get("status") not in STATUSES:
        raise _malformed(server, tool, f"its status is {raw.get('status')!r:.40}")
    return name, {key: raw[key] for key in _STATE if key in raw}


def result_of_task(raw: JsonObject, server: str, tool: str) -> JsonObject:
    """What a task that is completed has brought."""
    result = raw.get("result")
    if not is_object(result):
        raise _malformed(server, tool, "it is completed, and has no result")
    if result.get("resultType", "complete") != "complete":
        raise _malformed(server, tool, "what it has brought is no result yet")
    return result


def speaks_tasks(capabilities: object) -> bool:
    """Whether a side that declares these has tasks."""
    extensions = capabilities.get("extensions") if is_object(capabilities) else None
    return is_object(extensions) and is_object(extensions.get(TASKS))


def _malformed(server: str, tool: str, problem: str) -> ProtocolViolation:
    return ProtocolViolation(f"the task of {server}/{tool} is malformed: {problem}", where="call")
