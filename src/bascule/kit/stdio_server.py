"""Minimal MCP server over stdio without an SDK: both protocol eras, standard library only, no FastMCP.

For the demo servers and the sandbox server: each sandbox starts one of its own, and importing FastMCP takes 1 s.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = "2026-07-28"

LABELS = "dev.bascule/labels"
"""Key of the sensitivity labels in `_meta` of a result. A runtime reads them if `trust` of the server has `labels`."""

Answers = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
"""Functions that answer the methods of a server beside tools, by method."""


class ToolError(Exception):
    """Failure of a tool: a text for the agent, and facts for programs."""

    def __init__(self, text: str, **facts: Any) -> None:
        super().__init__(text)
        self.facts = facts


@dataclass(frozen=True, slots=True)
class Labelled:
    """Result of a tool with its sensitivity label."""

    structured: Mapping[str, Any]
    label: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its function and its definition."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[..., Mapping[str, Any] | Labelled]
    permissions: tuple[str, ...] = ()
    """Permissions that the definition declares in `_meta`."""

    def definition(self) -> dict[str, Any]:
        told = {"_meta": {"dev.bascule/permissions": [*self.permissions]}} if self.permissions else {}
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema), **told}


class Server:
    """Name, tools and other methods of one server."""

    def __init__(self, name: str, tools: tuple[Tool, ...], others: Answers) -> None:
        self.name = name
        self.tools = {tool.name: tool for tool in tools}
        self.others: Answers = {"ping": lambda _: {}, **others}
        offered = ("tools", *(method.partition("/")[0] for method in others))
        self.capabilities: dict[str, Any] = {word: {} for word in offered}


def serve(name: str, tools: tuple[Tool, ...], others: Answers | None = None) -> None:
    """Answers requests from stdin until it ends."""
    server = Server(name, tools, others or {})
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], **answer(server, request)}
            sys.stdout.write(f"{json.dumps(reply)}\n")
            sys.stdout.flush()


def answer(server: Server, request: Mapping[str, Any]) -> dict[str, Any]:
    """`result` or `error` of a request."""
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
            return {"result": called(server.tools[params["name"]], params.get("arguments") or {})}
        case str(method) if method in server.others:
            return {"result": {**_FRESH, **server.others[method](params)}}
        case method:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def called(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Result of a tool call."""
    try:
        given = tool.run(**arguments)
    except ToolError as error:
        return failed(str(error), error.facts)
    if isinstance(given, Labelled):
        return {**succeeded(given.structured), "_meta": {LABELS: [given.label]}}
    return succeeded(given)


def failed(text: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Result of a failed tool call."""
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": {**facts}, "isError": True, "resultType": "complete"}


def succeeded(structured: Mapping[str, Any]) -> dict[str, Any]:
    """Result of a successful tool call."""
    content = [{"type": "text", "text": json.dumps(structured)}]
    return {"content": content, "structuredContent": structured, "isError": False, "resultType": "complete"}


_FRESH = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
