"""A server of the new era whose one tool, `look`, tells what its process can see of itself."""

import sys

from light import Any, dumps, loads
from portrait import portrait

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}


def result_of(method: str) -> dict[str, Any]:
    match method:
        case "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}
        case "tools/list":
            return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}], **CACHE}
        case _:
            return {"content": [], "structuredContent": portrait(), **CACHE}


for line in sys.stdin:
    asked = loads(line)
    if "id" in asked:
        print(dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result_of(asked["method"])}), flush=True)
