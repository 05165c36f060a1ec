"""Demo: built-in MCP servers, the story of `bascule demo`, and the showcase of `bascule serve --demo`."""
