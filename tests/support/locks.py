"""Locks, and definitions to be locked."""

from pathlib import Path
from typing import Any

from bascule.catalog.digest import tool_digest
from bascule.catalog.pinning.lock import LOCK_NAME, Approved, read_lock, write_lock
from bascule.core.json_types import JsonObject

RICH: JsonObject = {
    "name": "act",
    "title": "Act",
    "description": "Acts as it is told.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where."}, "n": {"type": "integer", "minimum": 1}},
        "required": ["path"],
    },
    "outputSchema": {"type": "object", "properties": {"done": {"type": "boolean"}}},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    "icons": [{"src": "data:image/png;base64,AAAA", "mimeType": "image/png"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"com.example/kind": "plain"},
    "x-unknown": {"deep": [1, {"a": None}]},
}
"""A tool with every field there is, and one that nobody knows."""


def approved(*definitions: JsonObject) -> dict[str, Approved]:
    return {one["name"]: Approved(tool_digest(one), one) for one in definitions}


def lock_in(folder: Path, **servers: tuple[JsonObject, ...]) -> Path:
    """A lock file that approves these definitions."""
    path = folder / LOCK_NAME
    path.write_bytes(write_lock({name: approved(*tools) for name, tools in servers.items()}))
    return path


def locked_tools(folder: Path, server: str = "work") -> dict[str, Any]:
    """What the lock approves of a server: definitions by name."""
    servers = read_lock((folder / LOCK_NAME).read_bytes(), "")
    return {tool: one.definition for tool, one in servers[server].items()}
