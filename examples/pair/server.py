"""The server of the pair: the same in both containers. What it can reach, its container says."""

import socket

from bascule.kit import DataSensitivity, PrivateData, ToolPermission, ToolRetryError, create_mcp_server, tool_permission

mcp = create_mcp_server("records", instructions="Orders and salaries.")


@mcp.tool
@tool_permission(ToolPermission.READ)
def order(number: int) -> dict[str, int]:
    """One order."""
    return {"number": number, "total": 5 * number}


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
def send(host: str, port: int, text: str) -> str:
    """Send a text to another machine."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(text.encode())
    except OSError as error:
        raise ToolRetryError(f"{host} cannot be reached: {error.strerror or error}") from error
    return "sent"
