"""Workspaces of all agent sessions of one runtime."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from bascule.core.errors import StoreError, WorkspaceError
from bascule.core.principal import Principal
from bascule.core.workspace_quota import WORKSPACE_QUOTA
from bascule.workspace.workspace import Workspace


def workspaces_root(root: str | None, state_folder: Path) -> Path:
    """The folder of workspaces: the one that the config names, else one in the state folder."""
    return Path(root).expanduser() if root else state_folder / "workspaces"


class Workspaces:
    """One workspace for each principal, made when it is first asked for: two would not know of each other's changes."""

    def __init__(self, root: Path, *, quota: int = WORKSPACE_QUOTA) -> None:
        self.root = root
        self._quota = quota
        self._lock = Lock()
        self._open: dict[Principal, Workspace] = {}
        self.make_mark: Callable[[Principal], None] | None = None
        """Makes the level mark of a workspace before anything is written there. Raises `OSError` or `StoreError`."""

    @classmethod
    def at(cls, root: str | None, state_folder: Path, *, quota: int = WORKSPACE_QUOTA) -> "Workspaces":
        """In the folder that the config names, or in the state folder."""
        return cls(workspaces_root(root, state_folder), quota=quota)

    def of(self, principal: Principal) -> Workspace:
        with self._lock:
            found = self._open.get(principal)
            if found is None:
                found = self._open[principal] = self._opened(principal)
            return found

    def _opened(self, principal: Principal) -> Workspace:
        workspace = Workspace.of(principal, self.root, quota=self._quota)
        failure = ""
        try:
            if self.make_mark is not None:
                self.make_mark(principal)
        except OSError as error:
            failure = error.strerror or "unknown"
        except StoreError:
            # Its message names paths of the host.
            failure = "the level of the agent session cannot be read"
        if failure:
            workspace.close()
            raise WorkspaceError(
                "the level mark of this workspace could not be made",
                where="/workspace",
                evidence=failure,
                cause="the folder of workspaces cannot be written, or its disk is full",
                fix="let `workspace.root` name a folder that only you can write, on a disk with room",
            )
        return workspace

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
        return Workspace(self.root, quota=self._quota, bare=True)
