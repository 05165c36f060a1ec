"""A server of the old era that asks its client back: a tool call sends `arguments.ask` with `arguments.params` to the
client, and whatever the client answers is the tool's result; with `arguments.late` it asks after it has given one, and
with `arguments.hang` it gives none. All it gets is written to its argument, if it has one."""

import sys

from light import Any, dumps, loads, opened

LOG = sys.argv[1] if len(sys.argv) > 1 else None


def hear() -> str:
    line = sys.stdin.readline()
    if LOG is not None:
        with opened(LOG, "a") as written:
            written.write(line)
    return line


def say(message: dict[str, Any]) -> None:
    print(dumps({"jsonrpc": "2.0", **message}), flush=True)


def heard() -> dict[str, Any]:
    """The client's next answer."""
    while "method" in (message := loads(hear())):
        pass
    return message


def ask(arguments: dict[str, Any]) -> None:
    say({"id": "question", "method": arguments["ask"], "params": arguments.get("params", {})})


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    if message["method"] == "initialize":
        info = {"name": "asking", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}
    arguments = params["arguments"]
    if arguments.get("late"):
        return {"content": [{"type": "text", "text": "done"}]}
    ask(arguments)
    answer = heard()
    if arguments.get("hang"):
        heard()
    return {"content": [{"type": "text", "text": dumps(answer)}], "structuredContent": answer}


while line := hear():
    asked = loads(line)
    if asked.get("method") == "server/discover":
        say({"id": asked["id"], "error": {"code": -32601, "message": "Method not found"}})
    elif "id" in asked:
        say({"id": asked["id"], "result": result_of(asked)})
        if asked["method"] == "tools/call" and asked["params"]["arguments"].get("late"):
            ask(asked["params"]["arguments"])
