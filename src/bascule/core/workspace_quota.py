"""Default disk quota of a workspace.

In a module of its own: `bascule.workspace` has the same default as the config, and must not load the config.
"""

WORKSPACE_QUOTA = 1024**3
"""Bytes that the files of one agent session may take."""
