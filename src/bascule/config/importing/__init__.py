"""Import of servers from the config files of other MCP clients."""
