"""Request context of a kit server: principal, workspace and the sensitivity level seen, as context variables. Set at
the start of a request and reset at its end; its tasks and threads see it, nothing else does."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import WORKSPACE_VARIABLE, WORKSPACES_VARIABLE, state_folder
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.core.workspace_quota import WORKSPACE_QUOTA
from bascule.identity.current import CURRENT as WHO
from bascule.kit.levels.files import KeptLevels, Levels
from bascule.kit.levels.socket_client import SocketLevels
from bascule.kit.result_preview import CURRENT as SHOWN
from bascule.sensitivity.private_data import CURRENT as SEEN
from bascule.workspace.host_paths import CURRENT as WORKSPACE
from bascule.workspace.host_paths import workspace_of_call
from bascule.workspace.mark_files import MarkFiles
from bascule.workspace.workspaces import BoxedWorkspace, Workspaces


class Seen:
    """What one agent session has seen, as this server keeps it."""

    __slots__ = ("_levels", "_principal")

    def __init__(self, levels: Levels, principal: Principal) -> None:
        self._levels = levels
        self._principal = principal

    @property
    def level(self) -> DataSensitivity:
        return self._levels.look_now(self._principal)

    def add(self, dataset: str, sensitivity: DataSensitivity) -> None:
        self._levels.add(self._principal, dataset, sensitivity)


IDLE = 64
"""Workspaces that stay open although nobody uses them. Each holds three files of the process open, and nobody tells a
server when an agent session has ended."""


class Home:
    """Where a server of ours keeps what must outlive it: levels, and the files of agent sessions.

    Workspaces are those of the runtime on this machine: what a tool saves for an agent session is where the agent looks
    for it. Levels are the server's own, and shared with its twin; in a box, whoever made the box keeps them.
    """

    def __init__(
        self,
        name: str,
        *,
        folder: Path | None = None,
        workspaces: str | None = None,
        quota: int = WORKSPACE_QUOTA,
        presets: Mapping[str, Preset] = PRESETS,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.folder = folder or state_folder(environ)
        self._own = Path("servers", _folder_of(name))
        self._guests = 0
        # A socket that is named and missing is an error at the first request: a folder would be clean in each sandbox.
        self.levels: Levels = SocketLevels.named_in(environ) or KeptLevels(self.folder / self._own, self._mark_files)
        boxed = environ.get(WORKSPACE_VARIABLE)
        self._boxed = boxed is not None
        self.workspaces = (
            BoxedWorkspace(Path(boxed).absolute(), quota=quota)
            if boxed is not None
            else self._marked(workspaces or environ.get(WORKSPACES_VARIABLE), quota)
        )
        self._settled = self.folder, self.workspaces
        self.presets = presets
        """How much of a long result is shown, by name: those of the config."""
        self._lock = Lock()
        self._busy: dict[Principal, int] = {}
        self._idle: dict[Principal, None] = {}
        """Those whose last request has ended, the longest ago first."""

    def _marked(self, root: str | None, quota: int = WORKSPACE_QUOTA) -> Workspaces:
        """Workspaces with level marks. A server with a level socket makes none: its runtime does."""
        made = Workspaces.at(root, self.folder, quota=quota)
        if isinstance(self.levels, KeptLevels):
            made.make_mark = self.levels.make_mark
        return made

    def _mark_files(self) -> MarkFiles:
        return MarkFiles(self.workspaces.root, self.folder)

    def follow(self, config: RuntimeConfig) -> None:
        """Use the workspaces and the presets that a config describes. In a box there is one workspace."""
        if not self._boxed:
            self.workspaces = self._marked(config.workspace_root, config.workspace_quota)
        self.presets = config.presets

    @contextmanager
    def course_of(self, principal: Principal) -> Generator[None]:
        """For as long as a request of this principal is carried out."""
        self._begin(principal)
        # An agent's workspace that is at hand already is that of the call we are in the course of, in this process.
        at_hand = (WORKSPACE.get() or workspace_of_call()) if WHO.get() == principal else None
        who = WHO.set(principal)
        files = WORKSPACE.set(at_hand or partial(self.workspaces.of, principal))
        seen = SEEN.set(Seen(self.levels, principal))
        shown = SHOWN.set(self.presets)
        try:
            yield
        finally:
            SHOWN.reset(shown)
            SEEN.reset(seen)
            WORKSPACE.reset(files)
            WHO.reset(who)
            self._end(principal)

    def _begin(self, principal: Principal) -> None:
        with self._lock:
            self._busy[principal] = self._busy.get(principal, 0) + 1
            self._idle.pop(principal, None)

    def _end(self, principal: Principal) -> None:
        with self._lock:
            self._busy[principal] -= 1
            if self._busy[principal]:
                return
            del self._busy[principal]
            self._idle[principal] = None
            if len(self._idle) > IDLE:
                oldest = next(iter(self._idle))
                del self._idle[oldest]
                # In the lock: whoever comes back in this moment must not get one that is being closed.
                self.workspaces.close(oldest)

    @contextmanager
    def elsewhere(self, folder: Path) -> Generator[None]:
        """Keep everything in this folder meanwhile. A test must not touch what is kept here, nor find it."""
        if self._guests and folder != self.folder:
            raise UsageError(
                f"this server keeps what it must in {self.folder} already, for another test",
                fix="give both clients the same `home`, or ask one client for several principals",
            )
        if not self._guests:
            self._settled = self.folder, self.workspaces
            self._move(folder)
        self._guests += 1
        try:
            yield
        finally:
            self._guests -= 1
            if not self._guests:
                self._move(*self._settled)

    def _move(self, folder: Path, workspaces: Workspaces | None = None) -> None:
        self.close()
        self.folder = folder
        self.workspaces = workspaces or self._marked(None)
        self.levels.move(folder / self._own)

    def close(self) -> None:
        self.levels.close()
        self.workspaces.close()


def _folder_of(name: str) -> str:
    """A name of a folder for a server of any name: no two servers share one, and none leads elsewhere."""
    plain = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)[:40]
    return f"{plain}-{sha256(name.encode()).hexdigest()[:16]}"
