"""A server that answers as a scenario says, and writes down its pid and all it gets.

Its arguments are the scenario, a file of JSON, and the file to write to. A scenario maps methods to answers, taken in
order, the last of them for ever; several scenarios in a list are for one life of the server each, the last for ever. An
answer may have, obeyed in this order: `stderr`, a text; `say`, lines; `forever`, a text said again and again; `exit`, a
code to end with; `result` or `error`, the body of a reply. An empty one is silence. In what is said, `$ID` stands for the
id of the request, `$TOKEN` for its progress token and `$N` for how often this method was asked.
"""

import os
import sys
import time

try:
    from light import Any, dumps, loads, opened
except ImportError:  # imported by a test
    from servers.light import Any, dumps, loads, opened

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
TOOLS = [{"name": "act", "description": "Does as it is told.", "inputSchema": {"type": "object"}}]
USUAL: dict[str, Any] = {
    "server/discover": [{"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}}],
    "tools/list": [{"result": {"tools": TOOLS, **CACHE}}],
    "tools/call": [{"result": {"content": [{"type": "text", "text": "done"}], **CACHE}}],
}
UNKNOWN = [{"error": {"code": -32601, "message": "Method not found"}}]


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def give(answer: dict[str, Any], request: dict[str, Any], asked: int) -> None:
    """Obey one answer."""
    token = ((request.get("params") or {}).get("_meta") or {}).get("progressToken")

    def filled(text: str) -> str:
        known = (("$ID", dumps(request["id"])), ("$TOKEN", dumps(token)), ("$N", str(asked)))
        for word, value in known:
            text = text.replace(word, value)
        return text

    sys.stderr.write(answer.get("stderr", ""))
    sys.stderr.flush()
    for line in answer.get("say", []):
        write(filled(line) + "\n")
    while "forever" in answer:
        write(filled(answer["forever"]))
        time.sleep(0.001)
    if "exit" in answer:
        sys.exit(answer["exit"])
    body = {key: answer[key] for key in ("result", "error") if key in answer}
    if body:
        write(filled(dumps({"jsonrpc": "2.0", "id": "$ID", **body}).replace('"$ID"', "$ID", 1)) + "\n")


def scenario_of(path: str, log: str) -> dict[str, Any]:
    """The scenario of this life. How many there were before is told by the log."""
    with opened(path) as file:
        given = loads(file.read())
    lives = given if isinstance(given, list) else [given]
    before = 0
    if os.path.exists(log):  # noqa: PTH110 -- see `light`
        with opened(log) as written:
            before = sum('{"pid": ' in line for line in written)
    return {**USUAL, **lives[min(before, len(lives) - 1)]}


def serve(scenario: dict[str, Any], log: str) -> None:
    asked: dict[str, int] = {}
    with opened(log, "a") as written:
        written.write(dumps({"pid": os.getpid()}) + "\n")
        for line in sys.stdin:
            written.write(line)
            message = loads(line)
            if "id" not in message or "method" not in message:
                continue
            method = message["method"]
            answers = scenario.get(method, UNKNOWN)
            before = asked.get(method, 0)
            give(answers[min(before, len(answers) - 1)], message, before + 1)
            asked[method] = before + 1


if __name__ == "__main__":
    serve(scenario_of(sys.argv[1], sys.argv[2]), sys.argv[2])
