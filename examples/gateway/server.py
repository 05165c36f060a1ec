"""The server behind the gateways: the same in both containers. What it can reach, its container says."""

import socket
import urllib.error
import urllib.request

from bascule.kit import DataSensitivity, PrivateData, ToolPermission, ToolRetryError, create_mcp_server, tool_permission

mcp = create_mcp_server("records", instructions="Salaries, and a look at the web.")


@mcp.tool
@tool_permission(ToolPermission.READ)
def salaries() -> dict[str, int]:
    """What everybody earns."""
    PrivateData().add_private_dataset("salaries", DataSensitivity.CONFIDENTIAL)
    return {"ada": 5200, "bob": 4100}


@mcp.tool
@tool_permission(ToolPermission.READ)
def container() -> str:
    """In which of the two containers this is answered."""
    return socket.gethostname()


@mcp.tool
@tool_permission(ToolPermission.CONNECT)
def visit(url: str) -> str:
    """What stands at an address of the web."""
    if not url.startswith(("http://", "https://")):
        raise ToolRetryError("that is no address of the web")
    try:
        with urllib.request.urlopen(url, timeout=20) as page:  # noqa: S310 -- looked at above
            return page.read(10_000).decode(errors="replace")
    except urllib.error.URLError as error:
        raise ToolRetryError(f"{url} cannot be reached: {error}") from error
