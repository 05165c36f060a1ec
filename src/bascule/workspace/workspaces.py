"""Workspaces of all agent sessions of one runtime."""

from pathlib import Path
from threading import Lock

from bascule.core.errors import WorkspaceError
from bascule.core.principal import Principal
from bascule.core.workspace_quota import WORKSPACE_QUOTA
from bascule.workspace.workspace import Workspace


class Workspaces:
    """One workspace for each principal, made when it is first asked for: two would not know of each other's changes."""

    def __init__(self, root: Path, *, quota: int = WORKSPACE_QUOTA) -> None:
        self._root = root
        self._quota = quota
        self._lock = Lock()
        self._open: dict[Principal, Workspace] = {}

    @classmethod
    def at(cls, root: str | None, state_folder: Path, *, quota: int = WORKSPACE_QUOTA) -> "Workspaces":
        """In the folder that the config names, or in the state folder."""
        return cls(Path(root).expanduser() if root else state_folder / "workspaces", quota=quota)

    def of(self, principal: Principal) -> Workspace:
        with self._lock:
            found = self._open.get(principal)
            if found is None:
                found = self._open[principal] = self._opened(principal)
            return found

    def _opened(self, principal: Principal) -> Workspace:
        return Workspace.of(principal, self._root, quota=self._quota)

    def close(self, principal: Principal | None = None) -> None:
        """That one's, or all of them. Files stay; asking again opens it anew."""
        with self._lock:
            chosen = tuple(self._open) if principal is None else (principal,)
            closing = [self._open.pop(each) for each in chosen if each in self._open]
        for workspace in closing:
            workspace.close()


class BoxedWorkspace(Workspaces):
    """The workspaces of a process in a box: one folder, the files of the agent session that it serves."""

    def __init__(self, folder: Path, *, quota: int = WORKSPACE_QUOTA) -> None:
        super().__init__(folder, quota=quota)
        self._whose: Principal | None = None

    def _opened(self, principal: Principal) -> Workspace:
        # Whoever comes second is another one, and must not find the files of the first.
        if self._whose not in {None, principal}:
            raise WorkspaceError(
                "this box holds the files of another agent session", where="/workspace", fix="start it in its own box"
            )
        self._whose = principal
        return Workspace(self._root, quota=self._quota, bare=True)
