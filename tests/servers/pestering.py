"""A server of the old era that, when called, asks its client many things at once and gives back what was answered."""

import json
import sys
from typing import Any


def say(*messages: dict[str, Any]) -> None:
    sys.stdout.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))
    sys.stdout.flush()


def pester(number: int) -> dict[str, Any]:
    params = {"message": "Who?", "requestedSchema": {"type": "object"}}
    say(*({"id": f"q{n}", "method": "elicitation/create", "params": params} for n in range(number)))
    answers: list[dict[str, Any]] = []
    while len(answers) < number:
        message = json.loads(sys.stdin.readline())
        if "method" not in message:
            answers.append(message)
    accepted = sum(answer.get("result") == {"action": "accept", "content": {}} for answer in answers)
    refused = sum("error" in answer for answer in answers)
    return {"content": [], "structuredContent": {"accepted": accepted, "refused": refused}}


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    if message["method"] == "initialize":
        info = {"name": "pestering", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": "pester", "inputSchema": {"type": "object"}}]}
    return pester(params["arguments"]["number"])


for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "server/discover":
        say({"id": asked["id"], "error": {"code": -32601, "message": "Method not found"}})
    elif "id" in asked:
        say({"id": asked["id"], "result": result_of(asked)})
