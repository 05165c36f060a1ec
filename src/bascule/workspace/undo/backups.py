"""Backups (the attic) of a workspace: originals that may have to come back, and new files before they are moved in. It
lies beside the files of the agent session, so that files move without a copy, and no path of an agent leads there."""

import errno
import fcntl
import json
import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.virtual_paths import shown

_CHUNK = 1 << 20
_CANNOT = {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
"""How systems say that the kernel will not copy here. Some file systems then want it done by hand."""


def copy(source: int, target: int) -> None:
    """Copies all bytes of one open file to another, from offset 0; the position of the source does not move. Blocks are
    shared where the file system can."""
    at = _by_kernel(source, target)
    while chunk := os.pread(source, _CHUNK, at):
        at += write_all(target, chunk, at)


def _by_kernel(source: int, target: int) -> int:
    """How far it came."""
    at = 0
    try:
        while done := os.copy_file_range(source, target, 1 << 30, at, at):
            at += done
    except AttributeError:  # not on this system
        return at
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    return at


def write_all(target: int, data: "bytes | memoryview", at: int | None = None) -> int:
    """At a place, or where the file stands. The kernel may take less than it is given, and says so."""
    done = 0
    while done < len(data):
        rest = data[done:]
        done += os.write(target, rest) if at is None else os.pwrite(target, rest, at + done)
    return done


KEPT_ASIDE = 3
"""How many folders of processes that were killed are kept. An operator may look for something there that is missed."""

ATTIC = "attic"
_INDEX = "index"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 16


class Attic:
    """Numbered slots of one workspace, in a folder of this process. The folder is made for the first slot.

    A process that was killed leaves its folder behind. The changes of its calls stay, since their effects elsewhere are
    unknown; the originals stay in that folder, with an index, until three more such folders exist. In a sandbox, which
    shows the files alone, the attic is a folder among them.
    """

    def __init__(self, home: int, place: str = ATTIC) -> None:
        """`home` is the folder in which it lies, by that name. The descriptor stays the caller's."""
        self._home = home
        self._place = place
        self._fd = -1
        self._index = -1
        self._name = ""
        self._numbers = count()

    @property
    def fd(self) -> int:
        if self._fd < 0:
            self._fd = self._made()
        return self._fd

    def slot(self) -> str:
        """A name that is free."""
        return str(next(self._numbers))

    def create(self, mode: int | None = None) -> tuple[str, int]:
        """An empty file, open for reading and writing."""
        slot = self.slot()
        fd = os.open(slot, _NEW, 0o666, dir_fd=self.fd)
        if mode is not None:
            os.fchmod(fd, mode & 0o777)
        return slot, fd

    def write(self, data: "bytes | memoryview", mode: int | None) -> str:
        slot, fd = self.create(mode)
        try:
            write_all(fd, data)
        except OSError:
            self.drop(slot)
            raise
        finally:
            os.close(fd)
        return slot

    def copy_of(self, root: ConfinedRoot, key: str) -> str:
        """The slot of a copy of what is there, a file or a link."""
        link = root.link(key)
        if link is not None:
            slot = self.slot()
            os.symlink(link, slot, dir_fd=self.fd)
            return slot
        fd, _ = root.open_file(key, os.O_RDONLY)
        try:
            return self._copy(fd)
        finally:
            os.close(fd)

    def _copy(self, source: int) -> str:
        """With its mode and its time."""
        status = os.fstat(source)
        slot, fd = self.create(status.st_mode)
        try:
            copy(source, fd)
            os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError:
            self.drop(slot)
            raise
        finally:
            os.close(fd)
        return slot

    def note(self, slot: str, key: str) -> None:
        """Write down what lies there: a number alone would tell an operator nothing."""
        if self._index < 0:
            self._index = os.open(_INDEX, _NEW | os.O_APPEND, 0o600, dir_fd=self.fd)
        line = json.dumps({"slot": slot, "path": shown(key)})
        # What is missed by a full disk is only what an operator would read after a crash.
        with suppress(OSError):
            os.write(self._index, line.encode("utf-8", "surrogateescape") + b"\n")

    def status(self, slot: str) -> os.stat_result:
        return os.lstat(slot, dir_fd=self.fd)

    def drop(self, slot: str) -> None:
        with suppress(FileNotFoundError):
            _purge(self.fd, slot)

    def close(self) -> None:
        """What is still there is left, as by a process that was killed: calls under way can no longer undo it."""
        if self._index >= 0:
            os.close(self._index)
        if self._fd >= 0:
            if _is_bare(self._fd):
                with _opened(self._home, self._place) as attic:
                    _purge(attic, self._name)
            os.close(self._fd)
        # Whoever still wants a slot must not make one where these numbers lead by then.
        self._fd = self._index = self._home = -1

    def _made(self) -> int:
        with suppress(FileExistsError):
            os.mkdir(self._place, 0o700, dir_fd=self._home)
        with _opened(self._home, self._place) as attic:
            _tidy(attic)
            for _ in range(_TRIES):
                self._name = f"{os.getpid()}-{secrets.token_hex(4)}"
                os.mkdir(self._name, 0o700, dir_fd=attic)
                with suppress(OSError):
                    fd = _held(attic, self._name)
                    # Another process that tidies up may have taken it for a left one before we held it.
                    if os.fstat(fd).st_nlink:
                        return fd
                    os.close(fd)
        raise OSError(errno.EAGAIN, "removed again and again")


@contextmanager
def _opened(folder: int, name: str) -> Generator[int]:
    fd = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def _held(attic: int, name: str) -> int:
    """Open, and locked for as long as this process lives."""
    fd = os.open(name, _FOLDER, dir_fd=attic)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _tidy(attic: int) -> None:
    """Remove what processes left behind that are no more: folders without originals, and all but the last few."""
    kept = 0
    for _, name in sorted(_by_age(attic), reverse=True):
        # Who lives holds its folder.
        with suppress(OSError):
            fd = _held(attic, name)
            try:
                if kept < KEPT_ASIDE and not _is_bare(fd):
                    kept += 1
                else:
                    _purge(attic, name)
            finally:
                os.close(fd)


def _by_age(attic: int) -> Iterator[tuple[int, str]]:
    for name in _names(attic):
        with suppress(FileNotFoundError):
            yield os.lstat(name, dir_fd=attic).st_mtime_ns, name


def _is_bare(folder: int) -> bool:
    return set(_names(folder)) <= {_INDEX}


def _names(folder: int) -> list[str]:
    return os.listdir(folder)


def _purge(folder: int, name: str) -> None:
    """Delete whatever it is. A tree may be deeper than any path is long, so its folders are moved up before they go."""
    todo = [name]
    while todo:
        name = todo.pop()
        try:
            os.unlink(name, dir_fd=folder)
            continue
        except (IsADirectoryError, PermissionError):
            below = os.open(name, _FOLDER, dir_fd=folder)
        try:
            for entry in _names(below):
                try:
                    os.unlink(entry, dir_fd=below)
                except (IsADirectoryError, PermissionError):
                    moved = f"purge-{secrets.token_hex(8)}"
                    os.rename(entry, moved, src_dir_fd=below, dst_dir_fd=folder)
                    todo.append(moved)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=folder)
