"""Backups (the attic) of a workspace: originals that may have to come back, and new files before they are moved in. It
lies beside the files of the agent session, so that files move without a copy, and no path of an agent leads there."""

import errno
import fcntl
import io
import json
import os
import secrets
import signal
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import NamedTuple

import msgspec

from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.virtual_paths import RESERVED, shown

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

LEFT_AFTER = 60
"""Seconds without a change after which a folder without a lock is one of a killed process. A sandbox in a virtual
machine has locks of its own, and a file that it is just writing must not be removed."""

ATTIC = "attic"
_INDEX = "index"
_BEGUN = "restore-"
"""First part of the name of a file that records the restore of one slot, for as long as that restore takes."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 16


class Restore(NamedTuple):
    """One restore by content: the slot with the original, and the file that gets its bytes."""

    slot: str
    key: str
    inode: int


class Attic:
    """Numbered slots of one workspace, in a folder of this process. The folder is made for the first slot.

    A process that was killed leaves its folder behind. The changes of its calls stay, since their effects elsewhere are
    unknown; the originals stay in that folder, with an index, until three more such folders exist. In a sandbox, which
    shows the files alone, the attic is a folder among them.
    """

    def __init__(self, home: int, place: str = ATTIC, *, aside: int = KEPT_ASIDE) -> None:
        """`home` is the folder in which it lies, by that name. The descriptor stays the caller's. `aside`: number of
        folders of killed processes to keep."""
        self._home = home
        self._aside = aside
        self._place = place
        self._fd = -1
        self._index = -1
        self._name = ""
        self._numbers = count()

    @property
    def fd(self) -> int:
        if self._fd >= 0 and not os.fstat(self._fd).st_nlink:
            # Removed from outside of a virtual machine, where the lock is not seen.
            os.close(self._fd)
            self._fd = -1
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

    def refill(self, restore: Restore, target: int) -> None:
        """Writes the original into an open file, and drops the slot. A restore that a killed process leaves unfinished
        is finished by the next one (`finish_restores`); on an error the slot still holds the original."""
        record = _BEGUN + restore.slot
        fd = os.open(record, _NEW, 0o600, dir_fd=self.fd)
        try:
            write_all(fd, msgspec.json.encode([os.fsencode(restore.key).hex(), restore.inode]))
            self._fill(restore.slot, target)
            self.drop(restore.slot)
        finally:
            os.close(fd)
            os.unlink(record, dir_fd=self.fd)

    def _fill(self, slot: str, target: int) -> None:
        source = os.open(slot, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
        try:
            status = os.fstat(source)
            copy(source, target)
            os.ftruncate(target, status.st_size)
            os.fchmod(target, status.st_mode & 0o777)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(source)

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
            _tidy(attic, _by_age(attic), self._aside)
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


def _tidy(attic: int, found: Iterable[tuple[int, str]], aside: int) -> None:
    """Remove what processes left behind that are no more: folders without originals, and all but the last few."""
    kept = 0
    for _, name in sorted(found, reverse=True):
        # Who lives holds its folder.
        with suppress(OSError):
            fd = _held(attic, name)
            try:
                if aside and _records(fd):
                    continue  # left to the next process that opens this workspace
                if kept < aside and not _is_bare(fd):
                    kept += 1
                else:
                    _purge(attic, name)
            finally:
                os.close(fd)


def remove_leftovers(root: ConfinedRoot) -> None:
    """Removes files that killed processes in sandboxes had begun to write. They lie among the files of the session, so
    they count against the quota, and no path of an agent leads there. None is an original: only the runtime undoes
    calls."""
    before = time.time_ns() - LEFT_AFTER * 10**9
    with suppress(OSError):
        attic = root.open_folder(RESERVED)
        try:
            _tidy(attic, [(changed, name) for changed, name in _by_age(attic) if changed < before], 0)
        finally:
            os.close(attic)


def finish_restores(root: ConfinedRoot, home: int) -> None:
    """Finishes each restore that a killed process has begun: the original replaces the file that is half restored. No
    call of that process is left to hold the file open, and a rename is one step."""
    with suppress(FileNotFoundError), _opened(home, ATTIC) as attic:
        for name in _names(attic):
            # A process that runs holds the lock of its folder.
            with suppress(BlockingIOError, FileNotFoundError, NotADirectoryError):
                fd = _held(attic, name)
                try:
                    for record in _records(fd):
                        _finish(root, fd, record)
                finally:
                    os.close(fd)


def _finish(root: ConfinedRoot, folder: int, record: str) -> None:
    restore = _begun(folder, record)
    if restore is not None:
        with suppress(FileNotFoundError, NotADirectoryError):  # the slot is dropped before the record
            there = root.status(restore.key)
            if there is not None and there.st_ino == restore.inode:
                root.put_in(folder, restore.slot, restore.key)
    os.unlink(record, dir_fd=folder)


def _records(folder: int) -> list[str]:
    return [name for name in _names(folder) if name.startswith(_BEGUN)]


def _begun(folder: int, record: str) -> Restore | None:
    """Reads the record of a restore. None if it is not whole: then no byte of the file was written."""
    fd = os.open(record, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with io.FileIO(fd) as file, suppress(msgspec.MsgspecError, ValueError):
        key, inode = msgspec.json.decode(file.readall(), type=tuple[str, int])
        return Restore(record.removeprefix(_BEGUN), os.fsdecode(bytes.fromhex(key)), inode)
    return None


def open_for_writing(fd: int) -> bool:
    """Returns True if any process has this file open for writing, or mapped so: the kernel then refuses a read lease.
    Also True if the kernel has no leases."""
    try:
        # The signal of a broken lease is ignored by default; that of SIGIO would end the process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (AttributeError, OSError):
        return True
    return False


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
