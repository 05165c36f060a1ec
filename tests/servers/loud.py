"""A server of the new era that writes a line to stderr for each it answers, or many, and gives back as much as is wanted.

The tool `act` takes `text` to give back, `lines` to write to stderr before it does, and `size`, bytes of a result.
"""

import json
import sys
from typing import Any

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
TOOL = {"name": "act", "description": "Answers loudly.", "inputSchema": {"type": "object"}}


def act(order: dict[str, Any]) -> str:
    for number in range(order.get("lines", 0)):
        print(f"line {number} about {order.get('text', '')}", file=sys.stderr, flush=True)
    return "x" * order["size"] if "size" in order else order.get("text", "")


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}}
        case "tools/list":
            return {"result": {"tools": [TOOL], **CACHE}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": act(message["params"]["arguments"])}], **CACHE}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer(asked)}), flush=True)
