"""Servers from the MCP registry: `server.json`, its inputs, and pinning of versions."""
