"""What may be touched: one confined root per agent session, seen by agents as `/workspace`."""

from bascule.workspace.entry import Entry
from bascule.workspace.paths import current_workspace, host_to_workspace_path, workspace_to_host_path
from bascule.workspace.workspace import Workspace

__all__ = ["Entry", "Workspace", "current_workspace", "host_to_workspace_path", "workspace_to_host_path"]
