"""Open of a regular file with `O_NONBLOCK` and `fstat`. A plain `open()` of a FIFO waits for the other end, and
`/dev/zero` has no end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_ALWAYS = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""Without `O_NOCTTY`, a terminal in place of a file could become the controlling terminal."""

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",  # only where links are not followed
}


class NotRegular(OSError):
    """Path to something else than a regular file. `strerror` names the kind."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def regular_descriptor(path: str | Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Descriptor of a regular file. Follows a symbolic link unless `flags` has `O_NOFOLLOW`. Raises `OSError`."""
    try:
        descriptor = os.open(path, flags | _ALWAYS, mode)
    except OSError as error:
        check_kind(path, _mode_at(path, flags))
        # A FIFO that has gone since.
        if error.errno == errno.ENXIO:
            raise NotRegular(error.errno, "it is not a regular file", str(path)) from error
        raise
    try:
        check_kind(path, os.fstat(descriptor).st_mode)
    except NotRegular:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: str | Path, flags: int = 0) -> BinaryIO:
    """Regular file opened for reading. Raises `OSError`."""
    return os.fdopen(regular_descriptor(path, os.O_RDONLY | flags), "rb")


def read_regular(path: str | Path, most: int = -1, *, flags: int = 0) -> bytes:
    """Content of a regular file, at most its first `most` bytes. Raises `OSError`."""
    with open_regular(path, flags) as file:
        return file.read(most)


def check_database(path: Path) -> None:
    """Check of an SQLite database and the files beside it, before SQLite opens them. Raises `NotRegular`."""
    for ending in ("", "-journal", "-wal", "-shm"):
        file = path.with_name(path.name + ending)
        check_kind(file, _mode_at(file, 0))


def fix_of(path: str | Path, error: OSError, otherwise: str) -> str:
    """Fix for a failed open: `otherwise`, unless the path leads to no regular file."""
    return f"put a regular file in place of {path}" if isinstance(error, NotRegular) else otherwise


def check_kind(path: str | Path, mode: int) -> None:
    """Raises `NotRegular` for the mode (`st_mode`) of a FIFO, socket, folder or device."""
    kind = _KINDS.get(stat.S_IFMT(mode))
    if kind is not None:
        raise NotRegular(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _mode_at(path: str | Path, flags: int) -> int:
    """Mode of a path that did not open; 0 if it cannot be read."""
    try:
        return os.stat(path, follow_symlinks=not flags & os.O_NOFOLLOW).st_mode  # noqa: PTH116 -- `path` may be text
    except OSError:
        return 0
