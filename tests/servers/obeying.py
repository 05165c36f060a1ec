"""A server of the new era whose tools do what their arguments say, and that writes down its pid and all it gets.

Its first argument is the file to write to; the second, if given, is its tools as JSON, or the name of a file that holds
them after an `@`, else there is one called `act`.
Arguments are obeyed in this order: `progress`, numbers to notify of; `doze`, to read nothing more before SIGUSR1 comes;
`sleep`, seconds to do nothing; `exit`, a code to end with; `pid`, to answer with its own; `silent`, to answer nothing; `error`, an error of the protocol; `result`, a result. Without
any of these the result is what was given, as text.
"""

import os
import sys
import time

from light import Any, dumps, loads, opened, signal

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
ACT = [{"name": "act", "description": "Does as it is told.", "inputSchema": {"type": "object"}}]


def say(message: dict[str, Any]) -> None:
    print(dumps({"jsonrpc": "2.0", **message}), flush=True)


def obey(params: dict[str, Any]) -> dict[str, Any] | None:
    """The body of the answer, if there is to be one."""
    order = params.get("arguments") or {}
    for progress in order.get("progress", []):
        told = {"progressToken": params["_meta"]["progressToken"], "progress": progress}
        say({"method": "notifications/progress", "params": told})
    if "doze" in order:
        signal.sigwait({signal.SIGUSR1})
    if "sleep" in order:
        time.sleep(order["sleep"])
    if "pid" in order:
        return {"result": {"content": [{"type": "text", "text": str(os.getpid())}], **CACHE}}
    if "exit" in order:
        sys.exit(order["exit"])
    if "silent" in order:
        return None
    if "error" in order:
        return {"error": order["error"]}
    return {"result": order.get("result", {"content": [{"type": "text", "text": dumps(order)}], **CACHE})}


def answer(message: dict[str, Any], tools: list[Any]) -> dict[str, Any] | None:
    match message["method"]:
        case "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}}
        case "tools/list":
            return {"result": {"tools": tools, **CACHE}}
        case "tools/call":
            return obey(message["params"])
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def serve(log: str, tools: list[Any]) -> None:
    with opened(log, "a") as written:
        written.write(dumps({"pid": os.getpid()}) + "\n")
        for line in sys.stdin:
            written.write(line)
            message = loads(line)
            body = answer(message, tools) if "id" in message else None
            if body is not None:
                say({"id": message["id"], **body})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    given = sys.argv[2] if len(sys.argv) > 2 else dumps(ACT)
    if given.startswith("@"):
        with opened(given[1:]) as file:
            given = file.read()
    serve(sys.argv[1], loads(given))
