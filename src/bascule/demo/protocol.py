"""The least an MCP server over stdio has to be: both eras, nothing but the standard library.

The built-in servers start in the time Python starts, which makes them good company for a first look.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = "2026-07-28"

Answers = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
"""By method: what a server offers beside tools, and how it answers."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with its definition."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[..., Mapping[str, Any]]
    permissions: tuple[str, ...] = ()
    """What it may do, for those who want to know."""

    def definition(self) -> dict[str, Any]:
        told = {"_meta": {"dev.bascule/permissions": [*self.permissions]}} if self.permissions else {}
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema), **told}


class Server:
    """A name, tools, and whatever else is offered."""

    def __init__(self, name: str, tools: tuple[Tool, ...], others: Answers) -> None:
        self.name = name
        self.tools = {tool.name: tool for tool in tools}
        self.others: Answers = {"ping": lambda _: {}, **others}
        offered = ("tools", *(method.partition("/")[0] for method in others))
        self.capabilities: dict[str, Any] = {word: {} for word in offered}


def serve(name: str, tools: tuple[Tool, ...], others: Answers | None = None) -> None:
    """Answer requests from stdin until it ends."""
    server = Server(name, tools, others or {})
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], **answer(server, request)}
            print(json.dumps(reply), flush=True)


def answer(server: Server, request: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a request, or its error."""
    params: dict[str, Any] = request.get("params") or {}
    match request.get("method"):
        case "server/discover":
            return {"result": {"supportedVersions": [VERSION], "capabilities": server.capabilities, **_FRESH}}
        case "initialize":
            info = {"name": server.name, "version": "1"}
            agreed = params.get("protocolVersion") or VERSION
            return {"result": {"protocolVersion": agreed, "capabilities": server.capabilities, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [tool.definition() for tool in server.tools.values()], **_FRESH}}
        case "tools/call" if params.get("name") in server.tools:
            return {"result": succeeded(server.tools[params["name"]].run(**params.get("arguments") or {}))}
        case str(method) if method in server.others:
            return {"result": {**_FRESH, **server.others[method](params)}}
        case method:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def succeeded(structured: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gave, as the result of a call."""
    content = [{"type": "text", "text": json.dumps(structured)}]
    return {"content": content, "structuredContent": structured, "isError": False, "resultType": "complete"}


_FRESH = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
