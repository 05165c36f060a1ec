"""The least an MCP server over stdio has to be: both eras, tools only, nothing but the standard library.

The built-in servers start in the time Python starts, which makes them good company for a first look.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with its definition."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[..., Mapping[str, Any]]

    def definition(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}


def serve(name: str, tools: tuple[Tool, ...]) -> None:
    """Answer requests from stdin until it ends."""
    by_name = {tool.name: tool for tool in tools}
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], **_answer(name, by_name, request)}
            print(json.dumps(reply), flush=True)


def _answer(name: str, tools: Mapping[str, Tool], request: Mapping[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = request.get("params") or {}
    match request.get("method"):
        case "server/discover":
            return {"result": {"supportedVersions": [VERSION], "capabilities": {"tools": {}}, **_FRESH}}
        case "initialize":
            info = {"name": name, "version": "1"}
            agreed: dict[str, Any] = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            return {"result": {**agreed, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [tool.definition() for tool in tools.values()], **_FRESH}}
        case "tools/call" if params.get("name") in tools:
            return {"result": _call(tools[params["name"]], params.get("arguments") or {})}
        case "ping":
            return {"result": {}}
        case method:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def _call(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    structured = tool.run(**arguments)
    text = json.dumps(structured)
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": structured, "isError": False, "resultType": "complete"}


_FRESH = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
