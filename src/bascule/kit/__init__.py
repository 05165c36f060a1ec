"""Kit for writing MCP servers on FastMCP: identity, permissions, sensitivity levels, connectors, result limits."""

from typing import TYPE_CHECKING, Any

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.identity.current import get_session_id, get_user_id
from bascule.kit.connectors.connector import Connector
from bascule.kit.context_result import context_result
from bascule.kit.errors import ToolFatalError, ToolRetryError
from bascule.kit.permission import ToolPermission, tool_permission
from bascule.sensitivity.private_data import PrivateData

if TYPE_CHECKING:
    from bascule.kit.auth.middleware import AuthSessionMiddleware
    from bascule.kit.server import GovernedServer, create_mcp_server

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
    "GovernedServer": "bascule.kit.server",
    "create_mcp_server": "bascule.kit.server",
}


def __getattr__(name: str) -> Any:
    """What needs FastMCP, loaded when first used: that takes a second, and connectors do without it."""
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
