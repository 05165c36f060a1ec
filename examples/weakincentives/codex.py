#!/usr/bin/env python3
"""Stands in for `codex app-server`, so that the example runs offline: a model that makes the calls it is told to.

`CALLS` in its environment are those calls, as JSON: `[["github_create_issue", {"title": "…"}]]`. What it was shown of
each is its final answer, as JSON too.
"""

import json
import os
import sys
from itertools import count
from typing import Any

numbers = count(1)


def write(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)


def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Have a tool called, and see what the model is shown of it."""
    number = next(numbers)
    write(id=number, method="item/tool/call", params={"tool": tool, "arguments": arguments, "callId": str(number)})
    while (answer := read()).get("id") != number or "result" not in answer:
        pass
    shown = answer["result"]
    return {"success": shown["success"], "text": "\n".join(item["text"] for item in shown["contentItems"])}


def turn(tools: list[dict[str, Any]]) -> None:
    calls = json.loads(os.environ["CALLS"])
    answer = {"shown": [call(tool, arguments) for tool, arguments in calls], "tools": tools}
    item = {"type": "agentMessage", "text": json.dumps(answer)}
    write(method="item/completed", params={"item": item})
    write(method="turn/completed", params={"turn": {"status": "completed"}})


def main() -> None:
    tools: list[dict[str, Any]] = []
    while True:
        match read():
            case {"id": number, "method": "thread/start", "params": {"dynamicTools": tools}}:
                write(id=number, result={"thread": {"id": "one"}})
            case {"id": number, "method": "turn/start"}:
                write(id=number, result={"turn": {"id": 1}})
                turn(tools)
            case {"id": number, "method": _}:
                write(id=number, result={})
            case _:
                pass


if __name__ == "__main__":
    main()
