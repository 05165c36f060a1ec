"""MCP endpoint: method dispatch, sessions, notifications, elicitation and tasks."""
