"""Append-only file of one audit chain, its newest. A partial record is cut off, never kept."""

import errno
import os
from contextlib import suppress

from bascule.files.regular_file import regular_descriptor
from bascule.store.audit.folder import AuditFolder
from bascule.store.secrets.key_files import sync_folder

SEGMENT = 64 * 1024 * 1024
"""Bytes from which on a file is full, and another one continues its chain."""

sync_data = getattr(os, "fdatasync", os.fsync)
"""Where there is only one way to have a file on disk, that is it."""


class Unwritten(Exception):
    """The file could not take all of it. `whole` are the bytes of those lines that it has taken."""

    def __init__(self, whole: int, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.whole = whole
        self.error = error


class AuditFile:
    """Open for one runtime, which holds the lock of the slot."""

    def __init__(self, folder: AuditFolder, slot: str, segment: int = SEGMENT) -> None:
        self._folder = folder
        self._slot = slot
        self._path = folder.current(slot)
        self._segment = segment
        self._descriptor: int | None = None
        self._ended = False
        self._size = 0
        self._torn = 0
        """Bytes at the end that are part of no whole record, because they could not be cut off."""
        self.appends = 0
        """How often something was added."""

    def open(self) -> None:
        """Raises `OSError`."""
        if self._ended:
            raise OSError(errno.EBADF, "the log is closed")
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
            self._descriptor = regular_descriptor(self._path, flags)
            self._size = os.fstat(self._descriptor).st_size
            sync_folder(self._folder.path)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def end(self) -> None:
        """Close it for good: who comes now no longer holds the slot."""
        self._ended = True
        self.close()

    def cut(self, torn: int) -> None:
        """Take these last bytes off. Raises `OSError`, and then they are taken off before anything is added."""
        self._torn = torn
        if self._torn:
            assert self._descriptor is not None
            self._size = os.fstat(self._descriptor).st_size - self._torn
            os.ftruncate(self._descriptor, self._size)
            self._torn = 0

    def append(self, lines: bytes | bytearray) -> None:
        """Add whole lines. They survive our end when this returns, but not yet the machine's. Raises `Unwritten`; then
        only whole lines of it are in the file."""
        done = 0
        try:
            if self._descriptor is None or self._torn:
                self.open()
                self.cut(self._torn)
            assert self._descriptor is not None
            done = os.write(self._descriptor, lines)
            while done < len(lines):
                # The next write tells why there was no room for all.
                done += os.write(self._descriptor, bytes(lines[done:]))
        except OSError as error:
            raise self._cut_back(lines, done, error) from error
        self.appends += 1
        self._size += done
        if self._size >= self._segment:
            self._begin_another()

    def sync(self) -> None:
        """On disk when this returns. Raises `OSError`."""
        if self._descriptor is not None:
            sync_data(self._descriptor)

    def duplicate(self) -> int | None:
        """A descriptor of the same file, to be synced and closed in a thread: ours may be closed meanwhile."""
        return os.dup(self._descriptor) if self._descriptor is not None else None

    def _cut_back(self, lines: bytes | bytearray, done: int, error: OSError) -> Unwritten:
        whole = lines.rfind(b"\n", 0, done) + 1
        self._size += whole
        if whole:
            self.appends += 1
        # If nothing was written, there may still be a rest that could not be cut off before.
        with suppress(OSError):
            self.cut(done - whole or self._torn)
        return Unwritten(whole, error)

    def _begin_another(self) -> None:
        """The full file is on disk before it is let go. Where that, or its new name, cannot be had, it grows on."""
        try:
            self.sync()
            self._path.rename(self._folder.segment(self._slot))
        except OSError:
            return
        self.close()
        # Tried again before the next record, if it cannot be made now.
        with suppress(OSError):
            self.open()
