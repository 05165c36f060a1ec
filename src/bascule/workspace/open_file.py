"""Writable open file of a workspace; its writes count against the quota."""

import io
import os
from typing import TYPE_CHECKING

from bascule.core.errors import WorkspaceError
from bascule.workspace.errors import told
from bascule.workspace.quota import cost
from bascule.workspace.undo.backups import write_all
from bascule.workspace.undo.journal import History
from bascule.workspace.undo.ledger import Owner
from bascule.workspace.virtual_paths import shown

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class WorkspaceFile(io.FileIO):
    """Without a buffer. A write that finds no room leaves the file as long as it was.

    It writes to the file that was opened, wherever that lies by then. Once the call that opened it was undone, it
    rejects every write: the file may be open in other calls too.
    """

    def __init__(self, fd: int, mode: str, key: str, history: History, owner: Owner | None) -> None:
        super().__init__(fd, mode)
        self.name = shown(key)
        self._key = key
        self._history = history
        self._owner = owner
        self._append = "a" in mode

    def write(self, data: "ReadableBuffer", /) -> int:
        view = memoryview(data).cast("B")
        with self._history.lock:
            size = os.fstat(self.fileno()).st_size
            start = size if self._append else self.tell()
            self._grow(size, start + len(view))
            try:
                return write_all(self.fileno(), view)
            except OSError as error:
                failure = self._cut(error, size, start, start + len(view))
        raise failure

    def truncate(self, size: int | None = None, /) -> int:
        with self._history.lock:
            before = os.fstat(self.fileno()).st_size
            wanted = self.tell() if size is None else size
            self._grow(before, wanted)
            try:
                os.ftruncate(self.fileno(), wanted)
            except OSError as error:
                failure = self._cut(error, before, None, wanted)
            else:
                self._history.quota.adjust(min(cost(wanted) - cost(before), 0))
                return wanted
        raise failure

    def _grow(self, size: int, end: int) -> None:
        self._history.before_writing_on(self._owner, self._key, self.fileno())
        self._history.quota.take(max(cost(end) - cost(size), 0), self._key)

    def _cut(self, error: OSError, size: int, start: int | None, end: int) -> WorkspaceError:
        """As long as it was before, and standing where it stood."""
        if end > size:
            os.ftruncate(self.fileno(), size)
        if start is not None:
            os.lseek(self.fileno(), start, os.SEEK_SET)
        self._history.quota.adjust(-max(cost(end) - cost(size), 0))
        return told(error, self._key)
