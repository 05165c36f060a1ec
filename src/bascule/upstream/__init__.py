"""Supervised connections (links) to upstream MCP servers: pool, negotiation, heartbeat, backoff, notifications."""
