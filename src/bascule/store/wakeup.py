"""Wake-up of runtimes on one machine: one datagram socket per runtime, in a folder beside the database."""

import asyncio
import hashlib
import os
import secrets
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

LONGEST_PATH = 100
"""Bytes of a socket's path. The systems allow 103 to 107."""


ATTEMPTS = 100
"""How often the folder may go in the very moment in which a bell is hung there, before something else must be wrong."""


class Bell:
    """One runtime's end. All that it carries is *look now*: what has happened is read from the store, so a ring that is
    lost, forged or repeated does no harm."""

    def __init__(self, database: Path) -> None:
        self._folder = _folder(database)
        self._name = secrets.token_hex(8)
        self._socket: socket.socket | None = None
        self._listeners: set[asyncio.Future[None]] = set()

    def hang(self) -> None:
        """From here on others can ring. Where there can be no such socket, nobody rings, and looking now and then has
        to do."""
        for _ in range(ATTEMPTS):
            if self._socket is not None:
                return
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._socket = _bound(self._folder / self._name) if _ours(self._folder) else None
            except (FileNotFoundError, FileExistsError):
                continue  # another one has just taken the last bell down, and the folder with it
            except OSError:
                with suppress(OSError):
                    self._folder.rmdir()  # it was made for nothing
                return

    def ring(self) -> None:
        """Every other one. Never blocks."""
        with suppress(OSError), _socket() as out:
            if _ours(self._folder):
                for path in self._folder.iterdir():
                    if path.name != self._name and path.is_socket():
                        _wake(out, path)

    async def rung(self) -> None:
        """Wait until another one rings, or has rung since this was last asked."""
        self.hang()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._listeners.add(future)
        if self._socket is not None:
            loop.add_reader(self._socket, self._hear)
        try:
            await future
        finally:
            self._listeners.discard(future)
            if not self._listeners and self._socket is not None:
                loop.remove_reader(self._socket)

    def _hear(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                while True:
                    self._socket.recv(1)
        for future in self._listeners:
            if not future.done():
                future.set_result(None)

    def take_down(self) -> None:
        """Whoever waits waits no longer."""
        own, self._socket = self._socket, None
        if own is not None:
            for future in self._listeners:
                future.get_loop().remove_reader(own)
            own.close()
            with suppress(OSError):
                (self._folder / self._name).unlink(missing_ok=True)
                self._folder.rmdir()  # which fails while another bell hangs there
        self._hear()


def _socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.settimeout(0)
    return made


def _bound(path: Path) -> socket.socket:
    made = _socket()
    try:
        made.bind(str(path))
    except BaseException:
        made.close()
        raise
    return made


def _wake(out: socket.socket, path: Path) -> None:
    try:
        out.sendto(b"!", str(path))
    except ConnectionRefusedError:
        # A process that was killed has left it.
        with suppress(OSError):
            path.unlink()
    except OSError:
        pass  # it is gone, or has been rung for so often that it wakes up anyway


def _folder(database: Path) -> Path:
    beside = database.resolve().with_name(f"{database.name}-bells")
    if len(os.fsencode(beside / ("0" * 16))) <= LONGEST_PATH:
        return beside
    name = hashlib.sha256(os.fsencode(beside)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"bascule-{os.geteuid()}-{name}"


def _ours(folder: Path) -> bool:
    """In a folder for temporary files, somebody else may have been there first."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
