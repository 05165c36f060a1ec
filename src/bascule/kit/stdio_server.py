"""The least an MCP server over stdio has to be: both eras, nothing but the standard library.

The built-in servers start in the time Python starts, which makes them good company for a first look.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = "2026-07-28"

LABELS = "dev.bascule/labels"
"""Where a result says how private it is, for runtimes that believe its server."""

Answers = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
"""By method: what a server offers beside tools, and how it answers."""


class ToolError(Exception):
    """Why a tool could not do what it was asked for, in words for the agent; and the facts, for programs."""

    def __init__(self, text: str, **facts: Any) -> None:
        super().__init__(text)
        self.facts = facts


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a tool gave, and how private it is."""

    structured: Mapping[str, Any]
    label: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with its definition."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[..., Mapping[str, Any] | Labelled]
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
            sys.stdout.write(f"{json.dumps(reply)}\n")
            sys.stdout.flush()


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
            return {"result": called(server.tools[params["name"]], params.get("arguments") or {})}
        case str(method) if method in server.others:
            return {"result": {**_FRESH, **server.others[method](params)}}
        case method:
            return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def called(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call."""
    try:
        given = tool.run(**arguments)
    except ToolError as error:
        return failed(str(error), error.facts)
    if isinstance(given, Labelled):
        return {**succeeded(given.structured), "_meta": {LABELS: [given.label]}}
    return succeeded(given)


def failed(text: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Why a tool gave nothing, as the result of a call."""
    content = [{"type": "text", "text": text}]
    return {"content": content, "structuredContent": {**facts}, "isError": True, "resultType": "complete"}


def succeeded(structured: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gave, as the result of a call."""
    content = [{"type": "text", "text": json.dumps(structured)}]
    return {"content": content, "structuredContent": structured, "isError": False, "resultType": "complete"}


_FRESH = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
