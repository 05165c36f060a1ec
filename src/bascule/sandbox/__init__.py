"""Sandboxes of MCP servers, and all child processes: bubblewrap, Docker, mounts, egress proxy, fork server, reaper."""
