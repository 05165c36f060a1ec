"""Confined root: a folder that no path or symbolic link escapes, used by keys such as `a/b` from one open descriptor.

A failure is an OSError that names nothing of the host, or a `PathRefused`."""

import errno
import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress

from bascule.workspace.errors import linked_out, no_file
from bascule.workspace.openat import PATH_ONLY, Engine, best_engine, exchange
from bascule.workspace.virtual_paths import WORKSPACE

_CAREFULLY = os.O_NONBLOCK | os.O_NOCTTY
"""A pipe without a writer would make us wait for one, and a terminal could become ours."""

_TRIES = 16
"""How often a path is looked at anew that changes while we look."""

_MOST_LINKS = 40
"""As many as Linux follows."""

_SETTLED = 1.0
"""Seconds after which a change of a file's links is surely dated before the moment in which we open it."""

_GONE = " (deleted)"
"""What Linux writes behind the name of an open file that has lost this name."""


class ConfinedRoot:
    """One folder, held open. It stays the one it is, whatever becomes of its name."""

    __slots__ = ("_engine", "_fd", "_path")

    def __init__(self, fd: int, engine: Engine | None = None) -> None:
        """The descriptor is ours from here on."""
        self._fd = fd
        self._engine = engine or best_engine(fd)
        self._path = _where(fd)

    def close(self) -> None:
        """Nothing is opened from here any more. The number stays taken as long as anybody has this object: a thread
        that is about to use it must not find another folder under it."""
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(nothing, self._fd, inheritable=False)
        os.close(nothing)

    def __del__(self) -> None:
        os.close(self._fd)

    def open_file(self, key: str, flags: int) -> tuple[int, os.stat_result]:
        """A file that is no more than that, and of which there is no second name. Links inside are followed."""
        for _ in range(_TRIES):
            settled = time.time() - _SETTLED
            try:
                fd = self._engine.open(self._fd, key, flags | _CAREFULLY)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                key = self.real(key)
            else:
                status = self._checked(fd, key, settled)
                if status is not None:
                    return fd, status
        raise OSError(errno.EAGAIN, "replaced again and again")

    def reopen(self, key: str, flags: int, inode: int) -> int:
        """Opens the file with this inode, also if it has several hard links by now. ESTALE if another one is there."""
        fd = self._engine.open(self._fd, key, flags | _CAREFULLY)
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode) and status.st_ino == inode:
            return fd
        os.close(fd)
        raise OSError(errno.ESTALE, "another file")

    def key_of(self, fd: int) -> str | None:
        """Present path of an open file; None if it is outside, has no name, or there is no /proc. To be verified."""
        where, root = _where(fd), _where(self._fd)
        if where is None or root is None or not where.startswith(f"{root}/"):
            return None
        return where[len(root) + 1 :]

    def open_folder(self, key: str) -> int:
        return self._engine.open(self._fd, key, os.O_RDONLY | os.O_DIRECTORY | _CAREFULLY)

    def create_file(self, key: str, flags: int) -> int:
        """A new file. Links are not followed."""
        return self._engine.open(self._fd, key, flags | os.O_CREAT | os.O_EXCL | os.O_NOCTTY, 0o666)

    def _checked(self, fd: int, key: str, settled: float) -> os.stat_result | None:
        """None if it was replaced while it was opened. The descriptor is closed unless all is well."""
        try:
            status = os.fstat(fd)
            refuse_others(key, status)
            # A file's own time moves with its links, and nobody can set it: this one has had no other since we began.
            if status.st_nlink and (status.st_ctime < settled or self._still_named(fd, key, status)):
                os.set_blocking(fd, True)
                fd = -1
                return status
            return None
        finally:
            if fd >= 0:
                os.close(fd)

    def _still_named(self, fd: int, key: str, status: os.stat_result) -> bool:
        """Whether the one link that was counted is the one by which it was opened.

        Without this, whoever links a file from outside into the workspace, and takes the link away between the
        opening and the counting, would have it counted as ours.
        """
        above, _, name = key.rpartition("/")
        try:
            folder = self._engine.open(self._fd, above, PATH_ONLY | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            _wait_for_changes(folder, name)
            where = None if name.endswith(_GONE) else _where(fd)
            if where is None:
                return _unchanged(status, os.lstat(name, dir_fd=folder))
            return where == f"{self._path}/{key}" or where == f"{_where(folder)}/{name}"
        except FileNotFoundError:
            return False
        finally:
            os.close(folder)

    def real(self, key: str, *, last: bool = True) -> str:
        """The same without symbolic links. With `last` false, the last name may be one.

        A link is followed if it stays inside, as an agent sees it: what begins with /workspace does too.
        """
        todo, done, links = key.split("/")[::-1], list[str](), 0
        while todo:
            name = todo.pop()
            if name == "..":
                if not done:
                    raise linked_out(key)
                done.pop()
            elif name and name != ".":
                target = self.link("/".join([*done, name])) if todo or last else None
                if target is None:
                    done.append(name)
                    continue
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, "too many links")
                if target.startswith("/"):
                    target = _seen_from_inside(key, target)
                    done = []
                todo.extend(reversed(target.split("/")))
        return "/".join(done)

    def link(self, key: str) -> str | None:
        """Where the symbolic link leads that is there, if one is."""
        try:
            with self._parent(key) as (folder, name):
                return os.readlink(name, dir_fd=folder)
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:
                return None
            raise

    def locate(self, key: str, *, follow: bool) -> tuple[str, os.stat_result | None]:
        """Where it is when links are followed, and what is there. Without `follow`, the last name may be a link."""
        for _ in range(_TRIES):
            try:
                status = self.status(key)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
            else:
                if not follow or status is None or not stat.S_ISLNK(status.st_mode):
                    return key, status
            key = self.real(key, last=follow)
        raise OSError(errno.EAGAIN, "replaced again and again")

    def status(self, key: str) -> os.stat_result | None:
        """What is there now, itself and not what it may link to. None if nothing is."""
        if not key:
            return os.fstat(self._fd)
        try:
            with self._parent(key) as (folder, name):
                return os.lstat(name, dir_fd=folder)
        except FileNotFoundError:
            return None

    def scan(self, key: str) -> Iterator[tuple[str, os.stat_result]]:
        """The entries of a folder. Links on the way to it are not followed."""
        fd = self.open_folder(key)
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        yield entry.name, entry.stat(follow_symlinks=False)
        finally:
            os.close(fd)

    def walk(self, key: str = "") -> Iterator[tuple[str, os.stat_result]]:
        """Everything below, each folder before what is in it. What vanishes meanwhile is left out."""
        todo = [key]
        while todo:
            folder = todo.pop()
            with suppress(FileNotFoundError, NotADirectoryError):
                for name, status in self.scan(folder):
                    below = f"{folder}/{name}" if folder else name
                    if stat.S_ISDIR(status.st_mode):
                        todo.append(below)
                    yield below, status

    def make_folder(self, key: str, mode: int = 0o777) -> None:
        with self._parent(key) as (folder, name):
            os.mkdir(name, mode, dir_fd=folder)

    def remove_folder(self, key: str) -> None:
        with self._parent(key) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def unlink(self, key: str) -> None:
        with self._parent(key) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def rename(self, key: str, to: str) -> None:
        with self._parent(key) as (folder, name), self._parent(to) as (other_folder, other_name):
            os.rename(name, other_name, src_dir_fd=folder, dst_dir_fd=other_folder)

    def take_out(self, key: str, to: int, slot: str) -> None:
        with self._parent(key) as (folder, name):
            os.rename(name, slot, src_dir_fd=folder, dst_dir_fd=to)

    def put_in(self, come_from: int, slot: str, key: str) -> None:
        with self._parent(key) as (folder, name):
            os.rename(slot, name, src_dir_fd=come_from, dst_dir_fd=folder)

    def swap(self, other: int, slot: str, key: str) -> bool:
        """False where the system cannot do it."""
        with self._parent(key) as (folder, name):
            return exchange(other, slot, folder, name)

    @contextmanager
    def _parent(self, key: str) -> Generator[tuple[int, str]]:
        above, _, name = key.rpartition("/")
        folder = self._engine.open(self._fd, above, PATH_ONLY | os.O_DIRECTORY)
        try:
            yield folder, name
        finally:
            os.close(folder)


def _wait_for_changes(folder: int, name: str) -> None:
    """Until nobody is in the midst of taking away a name in this folder, where the link may be counted no more and the
    name still be there. To rename something to what it is called does nothing, but waits for its turn to do it."""
    try:
        os.rename(name, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EROFS:  # where nobody can take away a name
            raise


def _where(fd: int) -> str | None:
    """The name by which it was opened, wherever that was moved; the kernel says so too if the name is gone. A name that
    is gone does not come back as the same one. None where there is no /proc."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 -- text is compared with text
    except OSError:
        return None


def _unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """The same file with the same links, as far as its times tell."""
    return (before.st_ino, before.st_dev, before.st_nlink, before.st_ctime_ns) == (
        after.st_ino,
        after.st_dev,
        after.st_nlink,
        after.st_ctime_ns,
    )


def refuse_others(key: str, status: os.stat_result) -> None:
    """What is no file, or is outside as well as inside."""
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, "a folder")
    if not stat.S_ISREG(status.st_mode):
        raise no_file(key, "a pipe, a socket or a device")
    if status.st_nlink > 1:
        raise no_file(key, "one of several hard links")


def _seen_from_inside(key: str, target: str) -> str:
    if target == WORKSPACE or target.startswith(WORKSPACE + "/"):
        return target[len(WORKSPACE) :]
    raise linked_out(key)
