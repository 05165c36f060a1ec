"""Kit for writing MCP servers on FastMCP: identity, permissions, sensitivity levels, connectors, result limits."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bascule.core.principal import Principal
    from bascule.core.sensitivity import DataSensitivity
    from bascule.identity.current import get_session_id, get_user_id
    from bascule.kit.auth.middleware import AuthSessionMiddleware
    from bascule.kit.connectors.connector import Connector
    from bascule.kit.errors import ToolFatalError, ToolRetryError
    from bascule.kit.permission import ToolPermission, tool_permission
    from bascule.kit.result_preview import context_result
    from bascule.kit.server import GovernedServer, create_mcp_server
    from bascule.sensitivity.private_data import PrivateData

__all__ = [
    "AuthSessionMiddleware",
    "Connector",
    "DataSensitivity",
    "GovernedServer",
    "Principal",
    "PrivateData",
    "ToolFatalError",
    "ToolPermission",
    "ToolRetryError",
    "context_result",
    "create_mcp_server",
    "get_session_id",
    "get_user_id",
    "tool_permission",
]

_HOMES = {
    "AuthSessionMiddleware": "bascule.kit.auth.middleware",
    "Connector": "bascule.kit.connectors.connector",
    "DataSensitivity": "bascule.core.sensitivity",
    "GovernedServer": "bascule.kit.server",
    "Principal": "bascule.core.principal",
    "PrivateData": "bascule.sensitivity.private_data",
    "ToolFatalError": "bascule.kit.errors",
    "ToolPermission": "bascule.kit.permission",
    "ToolRetryError": "bascule.kit.errors",
    "context_result": "bascule.kit.result_preview",
    "create_mcp_server": "bascule.kit.server",
    "get_session_id": "bascule.identity.current",
    "get_user_id": "bascule.identity.current",
    "tool_permission": "bascule.kit.permission",
}
"""Module of each public name. No submodule may have one of these names: its import would set that attribute of the
package, and `__getattr__` would never be called for it."""


def __getattr__(name: str) -> Any:
    """Loads a public name at its first use: FastMCP takes 1 s to import, and many users of the kit do without it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bascule.kit' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        if error.name != "fastmcp":
            raise
        raise ModuleNotFoundError("servers need FastMCP: pip install 'bascule[server]'", name="fastmcp") from error
