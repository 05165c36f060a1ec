"""Built-in MCP server that returns the time in UTC."""

from datetime import UTC, datetime
from typing import Any

from bascule.kit.stdio_server import Tool, serve


def now() -> dict[str, Any]:
    return {"now": datetime.now(UTC).isoformat(timespec="seconds")}


TOOLS = (Tool("now", "Tell the time, in UTC.", {"type": "object", "properties": {}}, now),)

if __name__ == "__main__":
    serve("clock", TOOLS)
