"""Transports to MCP servers: one dispatcher per kind of connection, with size limits, deadlines and typed errors."""
