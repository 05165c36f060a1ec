"""Owner of sandboxes: one runtime, known by an id and a file lock that the kernel releases when its process ends."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bascule.files.regular_file import regular_descriptor

RUN = "run"
"""The folder in the state folder in which every runtime has one of its own, for as long as it lives."""

LOCK = "lock"


class Owner:
    """One runtime, as who makes boxes. `folder` is for its sockets and files."""

    def __init__(self, state: Path) -> None:
        self.id = secrets.token_hex(6)
        self.state = state
        self.folder = state / RUN / self.id
        # Nobody looks at it before it is locked: else it could be taken for one that was left behind.
        unseen = self.folder.with_name(f".{self.id}")
        unseen.mkdir(parents=True, mode=0o700)
        self._lock = os.open(unseen / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unseen.rename(self.folder)

    def release(self) -> None:
        """Nothing is left that belongs to it."""
        if self._lock >= 0:
            # While it is locked, for the same reason.
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def left_behind(state: Path) -> Iterator[str]:
    """The ids of runtimes that have ended without tidying up, each held for as long as it is looked at."""
    with suppress(FileNotFoundError):
        for folder in sorted((state / RUN).iterdir()):
            if folder.name.startswith("."):
                continue  # it is being made
            try:
                lock = regular_descriptor(folder / LOCK, os.O_RDWR)
            except OSError:
                continue  # it is being removed
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # it lives
            else:
                yield folder.name
            finally:
                os.close(lock)


def forget(state: Path, owner: str) -> None:
    """Remove the folder of a runtime that has ended, once nothing else is left of it."""
    shutil.rmtree(state / RUN / owner, ignore_errors=True)
