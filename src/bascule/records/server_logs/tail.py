"""Tail of a server's log: its last lines, and lines that are added later (follow)."""

import os
from pathlib import Path

from bascule.core.errors import StoreError
from bascule.files.regular_file import fix_of, open_regular
from bascule.records.server_logs.file import LogLine, older, read_line


class LogTail:
    """One log as it is read. It knows how far it has read, also when the file was moved away meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = 0
        """The inode of the file that was read last."""
        self._offset = 0

    def last(self, count: int) -> list[LogLine]:
        """The last lines there are, and from here on only new ones."""
        before, _ = _read(older(self._path), 0)
        lines = [*before, *self._rest(self._path)]
        return lines[-count:] if count else []

    def new(self) -> list[LogLine]:
        """What was added since the last time."""
        lines: list[LogLine] = []
        if self._file and _inode(self._path) not in {0, self._file} and _inode(older(self._path)) == self._file:
            lines += self._rest(older(self._path))
        return [*lines, *self._rest(self._path)]

    def _rest(self, path: Path) -> list[LogLine]:
        inode = _inode(path)
        offset = self._offset if inode == self._file else 0
        lines, end = _read(path, offset)
        if inode:
            self._file, self._offset = inode, end
        return lines


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _read(path: Path, offset: int) -> tuple[list[LogLine], int]:
    """The whole lines from there on, and where they end."""
    try:
        with open_regular(path) as file:
            file.seek(offset, os.SEEK_SET)
            data = file.read()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: {error.strerror or error}", fix=fix_of(path, error, f"make {path} yours, mode 600")
        ) from error
    whole = data[: data.rfind(b"\n") + 1]
    lines = (read_line(line) for line in whole.splitlines())
    return [line for line in lines if line is not None], offset + len(whole)
