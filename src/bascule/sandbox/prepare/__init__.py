"""Prefetch of npm and Python packages (npx, uvx, pipx): fetched once in a sandbox, kept as read-only layers."""
