"""Workspace of an agent session: files below one confined root, seen as `/workspace`, with quota and undo."""

from bascule.workspace.files import Entry
from bascule.workspace.host_paths import current_workspace, host_to_workspace_path, workspace_to_host_path
from bascule.workspace.workspace import Workspace

__all__ = ["Entry", "Workspace", "current_workspace", "host_to_workspace_path", "workspace_to_host_path"]
