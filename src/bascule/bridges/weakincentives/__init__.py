"""Bridge to weakincentives: a prompt section with governed tools of MCP servers, their results, events and errors."""

import sys

try:
    import weakincentives as _framework
except ModuleNotFoundError as error:
    from bascule.core.errors import missing

    if error.name != "weakincentives":
        raise
    told = missing("weakincentives", "weakincentives", error)
    if sys.version_info < (3, 12):
        told = ModuleNotFoundError(f"{told.msg} (with Python 3.12 or newer, which it needs)", name=error.name)
    raise told from error

from bascule.bridges.weakincentives.connections import McpConnection, McpConnectionPool
from bascule.bridges.weakincentives.errors import (
    McpConnectionError,
    McpError,
    McpRunStopped,
    McpSchemaError,
    McpTimeoutError,
    McpToolError,
)
from bascule.bridges.weakincentives.results import McpOutputsForgotten, McpToolInvoked, McpToolOutput, McpToolResult
from bascule.bridges.weakincentives.section import McpIntegrationParams, McpIntegrationSection

assert _framework

__all__ = [
    "McpConnection",
    "McpConnectionError",
    "McpConnectionPool",
    "McpError",
    "McpIntegrationParams",
    "McpIntegrationSection",
    "McpOutputsForgotten",
    "McpRunStopped",
    "McpSchemaError",
    "McpTimeoutError",
    "McpToolError",
    "McpToolInvoked",
    "McpToolOutput",
    "McpToolResult",
]
