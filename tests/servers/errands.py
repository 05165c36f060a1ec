"""A server of the new era that goes out for what it is asked.

The tool `act` gives back what it was given. With a `url` it asks there first, by the way that HTTP_PROXY names; anything
but a 200 is an error of the tool, with what was heard instead.
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
TOOL = {"name": "act", "description": "Goes out.", "inputSchema": {"type": "object"}}
WITHIN = 5.0


def heard_at(url: str) -> str:
    """Empty: it was there. Else what was heard instead."""
    proxy = urlsplit(os.environ["HTTP_PROXY"])
    asking = http.client.HTTPConnection(proxy.hostname or "", proxy.port, timeout=WITHIN)
    try:
        asking.request("GET", url)
        answer = asking.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"cut off: {error!r}"
    finally:
        asking.close()
    return "" if answer.status == 200 else f"{answer.status}: {answer.headers.get('x-bascule-egress')}"


def act(order: dict[str, Any]) -> dict[str, Any]:
    trouble = heard_at(order["url"]) if "url" in order else ""
    content = [{"type": "text", "text": trouble or json.dumps(order)}]
    return {"content": content, "isError": bool(trouble), **CACHE}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}}
        case "tools/list":
            return {"result": {"tools": [TOOL], **CACHE}}
        case "tools/call":
            return {"result": act(message["params"]["arguments"])}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer(asked)}), flush=True)
