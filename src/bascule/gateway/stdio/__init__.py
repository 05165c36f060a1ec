"""MCP over stdin and stdout: streams, connection and one client's session."""
