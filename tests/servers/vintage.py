"""A server on an old release of the official SDK, over whatever transport that release has. It runs in that release's own
environment, never in ours: hence what it imports is found by name."""

import sys
from importlib import import_module
from typing import Any

server: Any = import_module("mcp.server.fastmcp").FastMCP("vintage", port=int(sys.argv[2]) if len(sys.argv) > 2 else 0)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def turn_into(tool: str, ctx: Any) -> str:
    """Have one more tool, of this name, in place of the one before."""
    tools = server._tool_manager._tools
    for learned in set(tools) - {"add", "turn_into"}:
        del tools[learned]
    server.add_tool(lambda: f"I am {tool}", name=tool, description="Says what it is.")
    await ctx.request_context.session.send_tool_list_changed()
    return "done"


turn_into.__annotations__["ctx"] = import_module("mcp.server.fastmcp").Context


async def talk(websocket: Any) -> None:
    streams = import_module("mcp.server.websocket").websocket_server
    async with streams(websocket.scope, websocket.receive, websocket.send) as (read, write):
        inner = server._mcp_server
        await inner.run(read, write, inner.create_initialization_options())


def serve_websocket(port: int) -> None:
    route = import_module("starlette.routing").WebSocketRoute("/ws", talk)
    app = import_module("starlette.applications").Starlette(routes=[route])
    import_module("uvicorn").run(app, host="127.0.0.1", port=port, log_level="warning", ws="websockets")


if __name__ == "__main__":
    server.tool()(add)
    server.tool()(turn_into)
    if sys.argv[1] == "ws":
        serve_websocket(server.settings.port)
    else:
        server.run(transport=sys.argv[1])
