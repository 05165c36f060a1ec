"""Built-in MCP server that sends text over a real TCP connection, and reports the network error if it cannot."""

import socket
from pathlib import Path
from typing import Any

from bascule.kit.stdio_server import Tool, ToolError, serve

PATIENCE = 3.0
"""Seconds for a connection. Whoever is told of here is near, or not to be reached at all."""

ROUTES = Path("/proc/net/route")


def send(to: str, text: str) -> dict[str, Any]:
    """Connect, hand the text over, and wait until the other side has it all."""
    host, _, port = to.rpartition(":")
    if not host or not port.isdecimal():
        raise ToolError(f"{to!r:.100} is no address: write HOST:PORT")
    data = text.encode()
    try:
        with socket.create_connection((host, int(port)), PATIENCE) as line:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            line.settimeout(PATIENCE)
            line.recv(1)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ToolError(f"{to} could not be reached: {why}; {_told(here := surroundings())}", why=why, **here) from None
    return {"sent": len(data), **surroundings()}


def surroundings() -> dict[str, Any]:
    """What this process sees of a network: its interfaces, and how many routes lead over them."""
    return {"interfaces": sorted(name for _, name in socket.if_nameindex()), "routes": _routes()}


def _routes() -> int:
    try:
        # Behind a heading, one a line.
        return len(ROUTES.read_text().splitlines()[1:])
    except OSError:
        return 0


def _told(here: dict[str, Any]) -> str:
    return f"interfaces here: {', '.join(here['interfaces']) or 'none'}; routes: {here['routes'] or 'none'}"


_SEND = {
    "type": "object",
    "properties": {"to": {"type": "string", "description": "HOST:PORT."}, "text": {"type": "string"}},
    "required": ["to", "text"],
}
TOOLS = (Tool("send", "Send text to an address.", _SEND, send, ("write", "connect")),)

if __name__ == "__main__":
    serve("post", TOOLS)
