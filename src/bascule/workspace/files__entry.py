"""One file or folder, as an agent sees it in a listing."""

import os
import stat
from typing import Literal

import msgspec

from bascule.workspace.virtual_paths import usable

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
