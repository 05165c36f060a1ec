"""A server on the old SDK's own WebSocket transport, run by the interpreter of an environment that has that SDK.

Its port is its first line of output.
"""

import socket

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.websocket import websocket_server
from mcp.types import TextContent, Tool
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

server = Server("vintage")


@server.list_tools()
async def list_tools():
    return [Tool(name="echo", description="Gives back what is given.", inputSchema={"type": "object"})]


@server.call_tool()
async def call_tool(name, arguments):
    return [TextContent(type="text", text=arguments["message"])]


async def talk(websocket):
    async with websocket_server(websocket.scope, websocket.receive, websocket.send) as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = Starlette(routes=[WebSocketRoute("/ws", talk)])
uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="websockets-sansio")).run([listener])
