"""Headers of every HTTP request to an upstream server: add one here.

Each HTTP client of Bascule merges them into its own headers once: when it opens a link (streamable HTTP, HTTP+SSE,
WebSocket handshake), a login (OAuth) or a fetch of keys (JWKS). A call does no work for them. The HTTP connector of the
kit merges them per request. Requests to other workers of the gateway and to a telemetry collector carry none of them.
"""

from collections.abc import Mapping

UPSTREAM_HEADERS: Mapping[str, str] = {"User-Agent": "bascule"}
"""A header with the same name in the config of an MCP server replaces the value here."""
