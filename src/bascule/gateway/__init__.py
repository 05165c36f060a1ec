"""The door for every MCP client: one endpoint in front of many servers."""
