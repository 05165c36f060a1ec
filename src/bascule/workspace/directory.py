"""Folder of one agent session: named by a hash of its principal, and closed to other users of the machine."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from bascule.core.errors import UsageError, WorkspaceError
from bascule.core.principal import Nobody, Principal

FILES = "files"
"""What the agent session sees as /workspace. Beside it lies what is ours."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def home_name(principal: Principal) -> str:
    """The same for the same two ids, and for no others: how long each is comes before it."""
    if isinstance(principal, Nobody):
        raise UsageError("nobody has no workspace", fix="act for a user in an agent session")
    ids = [text.encode() for text in (principal.user_id, principal.session_id)]
    return hashlib.sha256(b"".join(len(text).to_bytes(4) + text for text in ids)).hexdigest()[:32]


class Home:
    """The folder of one agent session, held open."""

    __slots__ = ("fd", "files", "path")

    def __init__(self, path: Path, *, bare: bool = False) -> None:
        """Makes what is missing. The folders above are the operator's and may be links; these two may not.

        `bare`: it is the files themselves, as a box shows them. Whatever lies beside them is not to be seen there, and
        nothing is made.
        """
        self.path = path
        failure = ""
        try:
            self.fd, self.files = _opened_bare(path) if bare else _opened(path)
        except OSError as error:
            failure = error.strerror or "unknown"
        if failure:
            raise WorkspaceError(
                "the workspace of this agent session could not be opened",
                where="/workspace",
                evidence=failure,
                cause="the folder of workspaces cannot be written, or something else lies there",
                fix="let `workspace.root` name a folder that only you can write",
            )

    def close(self) -> None:
        """The files have been given away, and are closed by who has them."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _opened(path: Path) -> tuple[int, int]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    home = os.open(path, _FOLDER)
    try:
        _keep_private(home)
        with suppress(FileExistsError):
            os.mkdir(FILES, 0o700, dir_fd=home)
        files = os.open(FILES, _FOLDER, dir_fd=home)
    except OSError:
        os.close(home)
        raise
    if os.fstat(files).st_dev != os.fstat(home).st_dev:
        os.close(files)
        os.close(home)
        raise OSError(None, "the files lie on another disk than the folder they are in")
    return home, files


def _opened_bare(path: Path) -> tuple[int, int]:
    files = os.open(path, _FOLDER)
    return os.dup(files), files


def _keep_private(home: int) -> None:
    status = os.fstat(home)
    if status.st_uid != os.geteuid():
        raise OSError(None, "the folder belongs to another user of this machine")
    if status.st_mode & 0o077:
        os.fchmod(home, 0o700)
