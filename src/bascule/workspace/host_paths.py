"""Conversion between agents' paths and paths of the host, for display and mounts only.

To open a file, use a `Workspace`: a path is a name, and a name can come to mean another file."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import cast

from bascule.core.errors import UsageError
from bascule.core.undo.transaction import CURRENT as TRANSACTION
from bascule.workspace.workspace import AnyPath, Workspace

CURRENT: ContextVar[Callable[[], Workspace] | None] = ContextVar("bascule_workspace", default=None)
"""Gives the workspace of the agent session on whose behalf this code runs, where that is not the one of the call in
whose course it does. Most requests never ask for it, so it is opened by the first who does."""


def current_workspace() -> Workspace | None:
    """The one of the agent session in the course of whose request this code runs, if it does."""
    source = CURRENT.get() or workspace_of_call()
    return source() if source is not None else None


def workspace_of_call() -> Callable[[], Workspace] | None:
    """Gives the workspace of the agent session whose call the runtime of this process carries out here, if it does."""
    call = TRANSACTION.get()
    return cast("Callable[[], Workspace] | None", call.workspace) if call is not None else None


def workspace_to_host_path(path: AnyPath, workspace: Workspace | None = None) -> str:
    """Where this file of an agent lies on this machine."""
    return _meant(workspace).host_path(path)


def host_to_workspace_path(host_path: AnyPath, workspace: Workspace | None = None) -> str:
    """How the agent names this file. What lies outside of its workspace is refused."""
    return _meant(workspace).path_of(host_path)


def _meant(workspace: Workspace | None) -> Workspace:
    found = workspace or current_workspace()
    if found is None:
        raise UsageError(
            "it is not known whose workspace is meant", fix="pass workspace=…, or ask in the course of a request"
        )
    return found
