"""MCP over stdin and stdout: pipes, the connection with its requests in flight, and one client's session."""
