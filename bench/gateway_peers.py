"""Peers of the gateway benchmarks: `python -m bench.gateway_peers NAME PORT` serves one of them."""

import sys

from bench.stdio_peers import SERVER


def proxy(port: int) -> None:
    """FastMCP's proxy, before the same stdio server."""
    from fastmcp.client.transports import StdioTransport
    from fastmcp.server import create_proxy

    server = create_proxy(StdioTransport(command=sys.executable, args=[SERVER]), name="proxy")
    server.run(transport="http", port=port, show_banner=False, log_level="error")


def sdk(port: int) -> None:
    """The official SDK's own server, which answers itself: there is nothing behind it."""
    from mcp.server import MCPServer

    server = MCPServer("sdk")

    @server.tool()
    def echo(message: str) -> str:
        return message

    server.run(transport="streamable-http", port=port, json_response=sys.argv[1] == "sdk-json")


if __name__ == "__main__":
    {"proxy": proxy, "sdk": sdk, "sdk-json": sdk}[sys.argv[1]](int(sys.argv[2]))
