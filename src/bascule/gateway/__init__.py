"""Gateway: one governed MCP endpoint, over streamable HTTP or stdio, in front of all servers of a runtime."""
