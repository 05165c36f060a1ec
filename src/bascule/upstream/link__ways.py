"""The two ways to a server behind a URL: the one in use, and the one that was usual before it."""

from bascule.core.errors import ConnectFailed, PeerError


def neither_way(first: PeerError, older: PeerError) -> ConnectFailed:
    """Two ways were tried, and both are told: which of them was meant is the operator's to say."""
    told = f"streamable HTTP: {first.message} ({first.evidence})\nHTTP+SSE: {older.message}"
    return ConnectFailed(
        "the server speaks neither streamable HTTP nor HTTP+SSE at this URL",
        where=older.where,
        evidence=f"{told} ({older.evidence})" if older.evidence else told,
        cause=older.cause or "the path of the URL is not the one at which the server speaks MCP",
        fix="check the path of the URL: many servers listen at /mcp, older ones at /sse",
    )
