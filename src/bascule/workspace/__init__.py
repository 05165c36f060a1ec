"""What may be touched: one confined root per agent session, seen by agents as `/workspace`."""

from bascule.workspace.files import Entry
from bascule.workspace.host_paths import current_workspace, host_to_workspace_path, workspace_to_host_path
from bascule.workspace.workspace import Workspace

__all__ = ["Entry", "Workspace", "current_workspace", "host_to_workspace_path", "workspace_to_host_path"]
