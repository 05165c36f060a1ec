"""File operations of one agent session, by keys, and `Entry`, one item of a listing. OS errors pass through
unchanged."""

import errno
import io
import os
import stat
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec

from bascule.core.errors import WorkspaceError
from bascule.workspace.confined_root import ConfinedRoot, refuse_others
from bascule.workspace.errors import told
from bascule.workspace.open_file import WorkspaceFile
from bascule.workspace.quota import BLOCK, Quota, cost, cost_of, total
from bascule.workspace.undo.backups import Attic, remove_leftovers
from bascule.workspace.undo.journal import History
from bascule.workspace.undo.ledger import Owner
from bascule.workspace.virtual_paths import RESERVED, shown, usable

Kind = Literal["file", "folder", "link", "other"]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What there is. `other` is what cannot be opened: pipes, sockets, devices, files with several hard links, and what
    has a name that no agent can write; such a name is shown with escapes."""

    name: str
    kind: Kind
    size: int
    """Bytes of a file, else 0."""
    modified: float
    """Seconds since the epoch."""


def entry_of(name: str, status: os.stat_result) -> Entry:
    kind = _kind(status)
    size = status.st_size if kind == "file" else 0
    if usable(name):
        return Entry(name, kind, size, status.st_mtime)
    return Entry(ascii(name)[1:-1], "other", 0, status.st_mtime)


def _kind(status: os.stat_result) -> Kind:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "file" if status.st_nlink == 1 else "other"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


_TRIES = 16
_CHUNK = 1 << 20


class Files:
    """The files below one root. Reading takes no lock: whoever replaces a file does so in one step."""

    def __init__(self, root: ConfinedRoot, attic: Attic, limit: int) -> None:
        self._root = root
        self._attic = attic
        self._quota = Quota(limit, partial(_count, root))
        self._history = History(root, attic, self._quota)
        self.lock = self._history.lock

    def open_reading(self, key: str) -> int:
        fd, _ = self._root.open_file(key, os.O_RDONLY)
        return fd

    def open_writing(self, key: str, mode: str) -> WorkspaceFile:
        """`mode` is one of `r+`, `w`, `a` and `x`, the last three perhaps with a `+`."""
        with self._history.lock:
            owner = self._history.owner()
            for _ in range(_TRIES):
                key, status = self._root.locate(key, follow=True)
                try:
                    fd = self._new(owner, key, mode) if status is None else self._existing(owner, key, mode, status)
                except FileExistsError:
                    if "x" in mode:
                        raise
                    continue  # a server has just made it
                return WorkspaceFile(fd, _raw_mode(mode), key, self._history, owner)
        raise OSError(errno.EAGAIN, "made and removed again and again")

    def _new(self, owner: Owner | None, key: str, mode: str) -> int:
        if "r" in mode:
            raise OSError(errno.ENOENT, "not found")
        self._make_above(owner, key)
        fd = self._taking(BLOCK, key, lambda: self._root.create_file(key, _flags(mode)))
        self._history.created(owner, key)
        return fd

    def _existing(self, owner: Owner | None, key: str, mode: str, status: os.stat_result) -> int:
        if "x" in mode:
            raise OSError(errno.EEXIST, "exists")
        refuse_others(key, status)
        if "w" in mode and not self._history.untouched(owner):
            return self._renewed(owner, key, status)
        fd, status = self._root.open_file(key, _flags(mode))
        try:
            if "w" in mode:
                # Not before it is known what it is: opening it so would have emptied whatever it was.
                os.ftruncate(fd, 0)
                self._quota.adjust(BLOCK - cost_of(status))
            else:
                self._history.before_writing(owner, key, status.st_ino)
        except (OSError, WorkspaceError):
            os.close(fd)
            raise
        return fd

    def _renewed(self, owner: Owner | None, key: str, status: os.stat_result) -> int:
        """An empty file takes its place, so that the original need not be copied."""
        slot, fd = self._attic.create(status.st_mode)
        try:
            self._history.replace(owner, key, slot, there=True)
        except OSError:
            os.close(fd)
            self._attic.drop(slot)
            raise
        self._quota.adjust(BLOCK - cost_of(status))
        return fd

    def read(self, key: str) -> bytes:
        fd, status = self._root.open_file(key, os.O_RDONLY)
        with io.FileIO(fd) as file:
            first = file.read(status.st_size + 1)
            # It may have grown meanwhile.
            return first if len(first) <= status.st_size else first + file.readall()

    def write(self, key: str, data: bytes) -> None:
        """The whole file in one step: whoever reads it meanwhile reads the old one or the new one."""
        with self._history.lock:
            owner = self._history.owner()
            key, status = self._root.locate(key, follow=True)
            if status is None:
                self._make_above(owner, key)
            else:
                refuse_others(key, status)
            self._taking(cost(len(data)) - cost_of(status), key, lambda: self._put(owner, key, data, status))

    def _put(self, owner: Owner | None, key: str, data: bytes, status: os.stat_result | None) -> None:
        slot = self._attic.write(data, None if status is None else status.st_mode)
        try:
            self._history.replace(owner, key, slot, there=status is not None)
        except OSError:
            self._attic.drop(slot)
            raise

    def entries(self, key: str) -> tuple[Entry, ...]:
        key, status = self._root.locate(key, follow=True)
        if status is None:
            raise OSError(errno.ENOENT, "not found")
        found = [entry_of(name, status) for name, status in self._root.scan(key) if key or name != RESERVED]
        return tuple(sorted(found, key=lambda entry: entry.name))

    def entry(self, key: str) -> Entry:
        _, status = self._root.locate(key, follow=True)
        if status is None:
            raise OSError(errno.ENOENT, "not found")
        return entry_of(key.rpartition("/")[2], status)

    def exists(self, key: str) -> bool:
        try:
            return self._root.locate(key, follow=True)[1] is not None
        except NotADirectoryError:
            return False

    def make_folder(self, key: str, *, parents: bool) -> None:
        with self._history.lock:
            owner = self._history.owner()
            key, status = self._root.locate(key, follow=True)
            if status is not None and not (parents and stat.S_ISDIR(status.st_mode)):
                raise OSError(errno.EEXIST, "exists")
            if status is None and parents:
                self._make_above(owner, key)
            if status is None:
                self._make(owner, key)
            else:
                self._history.wanted_too(owner, key)

    def _make(self, owner: Owner | None, key: str) -> None:
        self._taking(BLOCK, key, lambda: self._history.make_folder(owner, key))

    def _make_above(self, owner: Owner | None, key: str) -> None:
        missing: list[str] = []
        above = key.rpartition("/")[0]
        while above and self._root.status(above) is None:
            missing.append(above)
            above = above.rpartition("/")[0]
        for folder in reversed(missing):
            self._make(owner, folder)

    def delete(self, key: str) -> None:
        with self._history.lock:
            key, status = self._own(key)
            self._history.remove(self._history.owner(), key, status)

    def delete_tree(self, key: str) -> None:
        with self._history.lock:
            owner = self._history.owner()
            key, status = self._own(key)
            found = [(key, status)]
            if stat.S_ISDIR(status.st_mode):
                found.extend(self._root.walk(key))
            for below, there in reversed(found):
                self._history.remove(owner, below, there)

    def rename(self, key: str, to: str) -> None:
        with self._history.lock:
            key, status = self._own(key)
            failure: WorkspaceError | None = None
            try:
                self._rename(key, to, status)
            except OSError as error:
                failure = told(error, to)
        if failure is not None:
            raise failure

    def _rename(self, key: str, to: str, status: os.stat_result) -> None:
        owner = self._history.owner()
        to, there = self._root.locate(to, follow=False)
        if to == key:
            return
        if not to:
            raise OSError(errno.EEXIST, "the workspace itself")
        if to.startswith(key + "/"):
            raise OSError(errno.EINVAL, "into itself")
        if there is None:
            self._make_above(owner, to)
        self._history.move(owner, key, to, status)

    def _own(self, key: str) -> tuple[str, os.stat_result]:
        """Something in the workspace, itself and not what it may link to."""
        key, status = self._root.locate(key, follow=False)
        if status is None:
            raise OSError(errno.ENOENT, "not found")
        if not key:
            raise WorkspaceError(f"{shown(key)} itself stays where it is", where=shown(key), fix="name something in it")
        return key, status

    def _taking(self, more: int, key: str, act: Callable[[], Any]) -> Any:
        """Room is taken before anything is written, and given back if that fails."""
        self._quota.take(more, key)
        try:
            return act()
        except (OSError, WorkspaceError):
            self._quota.adjust(-more)
            raise


def _flags(mode: str) -> int:
    flags = os.O_RDWR if "+" in mode else os.O_WRONLY
    return flags | os.O_APPEND if "a" in mode else flags


def _raw_mode(mode: str) -> str:
    """As `FileIO` wants it for a descriptor that is open already."""
    return mode.replace("x", "w")


def _count(root: ConfinedRoot) -> int:
    try:
        remove_leftovers(root)
        return total(root.walk())
    except OSError as error:
        evidence = errno.errorcode.get(error.errno or 0, "unknown")
    raise WorkspaceError(
        "nothing can be added to the workspace: what there is cannot be counted",
        where=shown(""),
        evidence=evidence,
        cause="a folder lies too deep, or whoever made it has closed it to others",
        fix="an operator has to remove that folder",
    )
