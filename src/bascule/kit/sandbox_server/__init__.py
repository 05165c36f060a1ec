"""Sandbox server: MCP tools that run commands and use files in an isolated workspace."""
