"""MCP endpoint: validation, method dispatch, sessions, notifications, elicitation, input rounds, tasks and tracing."""
