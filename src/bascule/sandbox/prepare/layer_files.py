"""Files of a package layer: seal against changes, digests, size and removal. No symbolic link is followed."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from bascule.core.errors import SandboxError
from bascule.files.regular_file import open_regular

_PIECE = 1024 * 1024


class Entry(NamedTuple):
    """One file, folder or link, by its path from the tree on."""

    name: str
    path: str
    status: os.stat_result


def entries(tree: Path, *, opening: bool = False) -> Iterator[Entry]:
    """All there is, the tree itself first, in an order that depends on names alone. `opening` opens folders that are
    closed to us."""
    yield Entry(".", str(tree), tree.lstat())
    # Tens of thousands of files are looked at before every start, so paths are joined by hand.
    todo = [("", str(tree))]
    while todo:
        name, folder = todo.pop()
        if opening:
            os.chmod(folder, 0o700)  # noqa: PTH101
        with os.scandir(folder) as found:
            below = sorted(found, key=lambda each: each.name)
        for each in below:
            yield Entry(f"{name}{each.name}", each.path, each.stat(follow_symlinks=False))
            if each.is_dir(follow_symlinks=False):
                todo.append((f"{name}{each.name}/", each.path))


def size_of(tree: Path) -> int:
    """Bytes, as far as they can be counted while somebody writes there."""
    total, todo = 0, [tree]
    while todo:
        try:
            with os.scandir(todo.pop()) as found:
                for each in found:
                    total += each.stat(follow_symlinks=False).st_size
                    if each.is_dir(follow_symlinks=False):
                        todo.append(Path(each.path))
        except OSError:
            # Removed by its owner while we looked.
            continue
    return total


def seal(tree: Path) -> None:
    """Make all of it readable by everybody, and writable by nobody. Raises `SandboxError` for what is no file."""
    ours = os.geteuid() == 0
    for entry in reversed(list(entries(tree, opening=True))):
        if ours:
            # Who ran in the box is no more, but its number may come again.
            os.chown(entry.path, 0, 0, follow_symlinks=False)
        if stat.S_ISLNK(entry.status.st_mode):
            continue
        if not (stat.S_ISREG(entry.status.st_mode) or stat.S_ISDIR(entry.status.st_mode)):
            raise SandboxError(
                f"the package left something behind that is neither a file nor a folder: {entry.name}",
                where="prepare",
                cause="a layer is only read, and what is there would be a way to write",
                fix="install the package yourself, and name its program as the command",
            )
        may_run = stat.S_ISDIR(entry.status.st_mode) or entry.status.st_mode & 0o111
        Path(entry.path).chmod(0o555 if may_run else 0o444)


def content_digest(tree: Path) -> str:
    """Over every name, mode and byte."""
    digest = hashlib.sha256()
    for entry in entries(tree):
        mode = entry.status.st_mode
        digest.update(_line(entry.name, oct(mode)))
        if stat.S_ISLNK(mode):
            digest.update(_line(str(Path(entry.path).readlink())))
        elif stat.S_ISREG(mode):
            digest.update(_file_digest(entry.path))
    return digest.hexdigest()


def look_digest(tree: Path) -> str:
    """Over what the file system tells of every file without reading it. Whoever changes one changes its ctime, which
    cannot be set."""
    digest = hashlib.sha256()
    for entry in entries(tree):
        status = entry.status
        seen = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        digest.update(_line(entry.name, *map(str, seen)))
    return digest.hexdigest()


def remove(tree: Path) -> None:
    """Delete it whole, closed folders too. What is not there is no failure."""
    if tree.is_symlink() or not tree.is_dir():
        tree.unlink(missing_ok=True)
        return
    for _ in entries(tree, opening=True):
        pass
    rmtree(tree)


def _file_digest(path: str) -> bytes:
    with open_regular(path, os.O_NOFOLLOW) as file:
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.digest()


def _line(*parts: str) -> bytes:
    return b"\0".join(os.fsencode(part) for part in parts) + b"\n"
