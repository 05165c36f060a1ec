"""A stdlib MCP server over stdio that speaks both eras and answers as fast as Python can, or takes as many seconds for each
call as its argument says."""

import sys
import time

try:
    from light import Any, dumps, loads
except ImportError:  # a copy, without what lies beside it
    from json import dumps, loads
    from typing import Any

TOOL = {
    "name": "echo",
    "description": "Gives back what it is given.",
    "inputSchema": {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    method = message.get("method")
    if method == "tools/call":
        text = message["params"]["arguments"]["message"]
        return {"content": [{"type": "text", "text": text}], "isError": False, "resultType": "complete"}
    if method == "server/discover":
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "resultType": "complete",
        }
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL], "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    if method == "ping":
        return {}
    return None


def main() -> None:
    takes = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = loads(line)
        if "id" not in message:
            continue
        if takes and message.get("method") == "tools/call":
            time.sleep(takes)
        result = answer(message)
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            reply["result"] = result
        out.write(dumps(reply).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
