"""A server of the new era with tasks, which writes down its pid and all it gets.

Its one tool, `act`, is answered with a task where the client takes one, else at once. How the task stands is told by its
argument `states`: each `tasks/get` gets the next of them, the last for ever. Its first argument is the file to write to;
with `--plain` it does not say that it has tasks, and with `--insists` it answers with one whatever the client takes.
"""

import os
import sys

from light import Any, dumps, loads, opened

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
TASKS = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ACT = {"name": "act", "inputSchema": {"type": "object"}}
TIMES = {"createdAt": "2026-11-01T10:00:00Z", "lastUpdatedAt": "2026-11-01T10:00:00Z", "ttlMs": 60000}

TASKS_OF: dict[str, list[dict[str, Any]]] = {}


def takes_tasks(params: dict[str, Any]) -> bool:
    return TASKS in params["_meta"][CAPABILITIES].get("extensions", {}) or "--insists" in sys.argv


def call(params: dict[str, Any]) -> dict[str, Any]:
    if not takes_tasks(params):
        return {"content": [{"type": "text", "text": "at once"}], **CACHE}
    name = f"task-{len(TASKS_OF) + 1}"
    TASKS_OF[name] = params.get("arguments", {}).get("states") or [{"status": "working"}]
    return {"resultType": "task", "taskId": name, "status": "working", "pollIntervalMs": 10, **TIMES}


def get(params: dict[str, Any]) -> dict[str, Any]:
    states = TASKS_OF[params["taskId"]]
    state = states.pop(0) if len(states) > 1 else states[0]
    return {"resultType": "complete", "taskId": params["taskId"], **TIMES, **state}


def follow(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if params["taskId"] not in TASKS_OF:
        return {"error": {"code": -32602, "message": "Task not found"}}
    return {"result": get(params) if method == "tasks/get" else {"resultType": "complete"}}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params", {})
    match message["method"]:
        case "server/discover":
            extensions = {} if "--plain" in sys.argv else {"extensions": {TASKS: {}}}
            capabilities = {"tools": {}, **extensions}
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **CACHE}}
        case "tools/list":
            return {"result": {"tools": [ACT], **CACHE}}
        case "tools/call":
            return {"result": call(params)}
        case "tasks/get" | "tasks/update" | "tasks/cancel":
            return follow(message["method"], params)
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def serve(log: str) -> None:
    with opened(log, "a") as written:
        written.write(dumps({"pid": os.getpid()}) + "\n")
        for line in sys.stdin:
            written.write(line)
            message = loads(line)
            if "id" in message:
                print(dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
