"""Bare ASGI app that answers `tools/call` in the new era: the lower bound for the time of an HTTP client."""

import json
from collections.abc import Callable
from typing import Any

Answers = Callable[[dict[str, Any]], dict[str, Any]]

HEADERS = [(b"content-type", b"application/json")]
FRESH = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
TOOL = {
    "name": "echo",
    "description": "Gives back what it is given.",
    "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "tools/call":
            text = message["params"]["arguments"]["message"]
            return {"content": [{"type": "text", "text": text}], "isError": False, "resultType": "complete"}
        case "tools/list":
            return {"tools": [TOOL], **FRESH}
        case _:
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **FRESH}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await serve(scope, receive, send, answer)


async def serve(scope: dict[str, Any], receive: Any, send: Any, answers: Answers) -> None:
    if scope["type"] != "http":
        return
    body = b""
    more = True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    message = json.loads(body)
    reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answers(message)}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": reply})
