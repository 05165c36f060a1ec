"""A server of the old era alone.

`--unknown` says what it does on a method it does not know: `refuse` it, `ignore` it, or `die` of the line after it, as
Python servers of 2024 do. `--version` is the one it insists on. `--log` gets its pid and every message.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}}}


def result_of(message: dict[str, Any], version: str | None) -> dict[str, Any] | None:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            info = {"name": "old", "version": "1"}
            return {
                "protocolVersion": version or params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": info,
                "instructions": "Mind the gap.",
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": params["arguments"]["message"]}]}
        case "ping":
            return {}
        case _:
            return None


def reply(message: dict[str, Any], **answer: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


def serve(options: argparse.Namespace) -> None:
    poisoned = False
    for line in sys.stdin:
        note(options.log, line.strip())
        if poisoned:
            sys.exit("Traceback: the last message was not understood")
        message = json.loads(line)
        if "id" not in message:
            continue
        result = result_of(message, options.version)
        if result is not None:
            reply(message, result=result)
        elif options.unknown == "refuse":
            reply(message, error={"code": -32601, "message": "Method not found"})
        else:
            poisoned = options.unknown == "die"


def note(log: Path | None, line: str) -> None:
    if log is not None:
        with log.open("a") as written:
            written.write(line + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--unknown", choices=["refuse", "ignore", "die"], default="refuse")
    parser.add_argument("--version")
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args()
    note(chosen.log, json.dumps({"pid": os.getpid()}))
    serve(chosen)
