"""Owner of sandboxes: one runtime, known by an id and a file lock that the kernel releases when its process ends."""

import fcntl
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from weakref import WeakSet

from bascule.core.errors import SandboxError
from bascule.files.regular_file import regular_descriptor

RUN = "run"
"""The folder in the state folder in which every runtime has one of its own, for as long as it lives."""

LOCK = "lock"
LIVENESS = "alive"
EMPTY = "empty"
DECOYS = "decoys"


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
        self._pipes: dict[str, int] = {}
        """The write end of each container's liveness pipe."""
        self._making = Lock()
        self._decoys: tuple[int, ...] = ()
        """The open ends of the decoys."""
        _OWNERS.add(self)

    def liveness_pipe(self, container: str) -> Path:
        """A FIFO for one container, since two could signal by locks on one file. Only this process writes to it. The
        kernel closes the write end with the process, also after `kill -9`, and the reader gets an end of file. A
        stopped (SIGSTOP) or suspended runtime keeps it open. Raises `SandboxError`."""
        path = self.folder / f"{LIVENESS}-{container}"
        if container not in self._pipes:
            try:
                os.mkfifo(path, 0o600)
                # For both directions, since a FIFO without a reader cannot be opened for writing alone.
                self._pipes[container] = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                # A server of the same user, with a second write end, would outlive the runtime.
                path.chmod(0o444)
            except OSError as error:
                raise _no_pipes("the pipe that ends a container with this runtime cannot be made", error) from error
        return path

    def decoys(self) -> Path:
        """A folder with a FIFO and a Unix socket that every user may use and that this process holds open. Private
        lanes mount it, and their first program tries to leave through it. Raises `SandboxError`."""
        folder = self.folder / DECOYS
        # Layouts of sandboxes are made in threads.
        with self._making:
            if not self._decoys:
                try:
                    self._decoys = _made_decoys(folder)
                except OSError as error:
                    raise _no_pipes(
                        "the pipe and the socket by which sandboxes are proven cannot be made", error
                    ) from error
        return folder

    def empty_file(self, container: str) -> Path:
        """An empty file for the masks of one container."""
        path = self.folder / f"{EMPTY}-{container}"
        path.touch()
        # The user of a container is another one, and the umask may be 077.
        path.chmod(0o444)
        return path

    def forget_container(self, container: str) -> None:
        """Removes the files of a container that is gone. Closing its pipe ends one that is not."""
        pipe = self._pipes.pop(container, None)
        if pipe is not None:
            os.close(pipe)
        for name in (LIVENESS, EMPTY):
            (self.folder / f"{name}-{container}").unlink(missing_ok=True)

    def release(self) -> None:
        """Nothing is left that belongs to it."""
        if self._lock >= 0:
            # While it is locked, for the same reason.
            shutil.rmtree(self.folder, ignore_errors=True)
        self.let_go()

    def let_go(self) -> None:
        """Closes the lock and the pipes, and removes nothing. In a fork this is all: the parent is still the owner."""
        for descriptor in (self._lock, *self._pipes.values(), *self._decoys):
            if descriptor >= 0:
                os.close(descriptor)
        self._lock = -1
        self._pipes.clear()
        self._decoys = ()


def _no_pipes(message: str, error: OSError) -> SandboxError:
    return SandboxError(
        message,
        where="box",
        evidence=str(error),
        cause="the file system of the state folder has no named pipes or sockets, or is full",
        fix="set BASCULE_HOME to a folder on a local disk",
    )


def _made_decoys(folder: Path) -> tuple[int, ...]:
    folder.mkdir(mode=0o755, exist_ok=True)
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    pipe = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    os.write(pipe, b"decoy")
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX)
    try:
        # By the folder's number: the kernel takes no path of a socket beyond 107 bytes.
        listening.bind(f"/proc/self/fd/{opened}/socket")
        listening.listen()
    finally:
        os.close(opened)
    for path in (folder, fifo, folder / "socket"):
        # Access rights must not be what keeps a sandbox out.
        path.chmod(0o777)
    return pipe, listening.detach()


_OWNERS = WeakSet[Owner]()


def _in_a_fork() -> None:
    # The copies of a fork would keep containers of a dead parent alive.
    for owner in tuple(_OWNERS):
        owner.let_go()


os.register_at_fork(after_in_child=_in_a_fork)


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
