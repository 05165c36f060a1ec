"""Metric labels: names that the config, a listing or the protocol bounds, and never the principal."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from bascule.core.errors import PeerRefused
from bascule.core.outcome import FailureKind, ToolFailure

UNKNOWN = "unknown"
"""In place of a name that nobody has listed: callers make up as many of those as they like."""

REST = "other"
"""In place of every name, once a metric has as many label sets as are kept."""

RPC_ERROR = "jsonrpc_error"
"""A server's error with a code that the protocol does not have: servers make those up too."""

KNOWN_CODES = frozenset(
    {-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32020, -32021, -32022, -32042}
)
"""Codes of errors that JSON-RPC, the protocol or its SDKs have."""

PEER_ERROR = PeerRefused.code


class ClientLabels(NamedTuple):
    """A request that we made of a server."""

    method: str
    tool: str = ""
    prompt: str = ""
    error: str = ""
    version: str = ""
    transport: str = ""
    server: str = ""
    lane: str = ""


class ServerLabels(NamedTuple):
    """A request that was made of the gateway."""

    method: str
    tool: str = ""
    prompt: str = ""
    error: str = ""
    version: str = ""


class SessionLabels(NamedTuple):
    """A link to a server, from when it was ready to its end."""

    error: str = ""
    server: str = ""
    lane: str = ""


NETWORKS: Mapping[str, str] = MappingProxyType(
    {
        "stdio": "pipe",
        "docker exec": "pipe",
        "http": "tcp",
        "sse": "tcp",
        "ws": "tcp",
        "unix": "unix",
    }
)
"""What the conventions call a transport. One within this process has no name there."""

PROTOCOLS: Mapping[str, str] = MappingProxyType({"http": "http", "sse": "http", "unix": "http", "ws": "websocket"})
"""What is spoken below MCP."""


def error_type(failure: ToolFailure) -> str:
    """The class of a failure, of which there are few: the code of a protocol's error, or our kind."""
    if failure.code == PEER_ERROR and failure.kind is FailureKind.TOOL_ERROR:
        return str(failure.tool_code) if failure.tool_code in KNOWN_CODES else RPC_ERROR
    return failure.kind.value
