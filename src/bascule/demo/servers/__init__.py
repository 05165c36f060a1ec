"""MCP protocol of the demo servers, written without an SDK."""
