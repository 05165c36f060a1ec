"""Workspace: the files of one agent session by virtual paths, `/workspace/…` or relative to it."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, overload

from bascule.core.errors import PathRefused, UsageError, WorkspaceError
from bascule.core.principal import Principal
from bascule.core.workspace_quota import WORKSPACE_QUOTA
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.directory import FILES, Home, home_name
from bascule.workspace.errors import told
from bascule.workspace.files import Entry, Files
from bascule.workspace.openat import Engine
from bascule.workspace.undo.backups import ATTIC, KEPT_ASIDE, Attic, finish_restores, remove_leftovers
from bascule.workspace.virtual_paths import RESERVED, key_of, shown

P = ParamSpec("P")
R = TypeVar("R")

AnyPath = str | os.PathLike[str]
TextMode = Literal["r", "w", "a", "x", "r+", "w+", "a+", "x+"]
BinaryMode = Literal["rb", "wb", "ab", "xb", "rb+", "wb+", "ab+", "xb+", "r+b", "w+b", "a+b", "x+b"]

_MODES = {*"rwax"} | {f"{letter}+" for letter in "rwax"}


class Workspace:
    """What one agent session may touch. No path leads out of it, and no error shows where it really lies.

    Whatever is changed in the course of a call can be undone with that call. Every method may be called from any
    thread; they wait for the disk.
    """

    def __init__(
        self, folder: Path, *, quota: int = WORKSPACE_QUOTA, engine: Engine | None = None, bare: bool = False
    ) -> None:
        """`folder` is the agent session's own; its files lie in `files` in it. `bare`: it holds the files themselves,
        as a box shows them."""
        self._home = Home(folder, bare=bare)
        self._root = ConfinedRoot(self._home.files, engine)
        attic = RESERVED if bare else ATTIC
        if not bare:
            self._finish_restores()
        remove_leftovers(self._root)
        self._attic = Attic(self._home.fd, attic, aside=0 if bare else KEPT_ASIDE)
        self._files = Files(self._root, self._attic, quota)
        self._place = folder if bare else folder / FILES
        self._real_place = self._place.resolve()
        self._closed = False

    def _finish_restores(self) -> None:
        failure: WorkspaceError | None = None
        try:
            finish_restores(self._root, self._home.fd)
        except OSError as error:
            failure = told(error, "")
            self._root.close()
            self._home.close()
        if failure is not None:
            raise failure

    @classmethod
    def of(cls, principal: Principal, root: Path, *, quota: int = WORKSPACE_QUOTA) -> "Workspace":
        """The one of this principal among all that lie in `root`. In one process there must be one for each principal:
        two would not know of each other's changes."""
        return cls(root.absolute() / home_name(principal), quota=quota)

    def close(self) -> None:
        """Twice does no harm. Files that are open stay usable; calls under way can no longer be undone."""
        with self._files.lock:
            self._closed = True
            self._attic.close()
            self._root.close()
            self._home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Workspace {self._place.parent.name}>"

    @overload
    def open(
        self,
        path: AnyPath,
        mode: TextMode = "r",
        *,
        encoding: str = "utf-8",
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...
    @overload
    def open(self, path: AnyPath, mode: BinaryMode) -> IO[bytes]: ...
    def open(
        self,
        path: AnyPath,
        mode: str = "r",
        *,
        encoding: str = "utf-8",
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Like the builtin. Folders on the way to a file that is made are made too.

        What is written counts when it leaves the buffer, so that NoRoom may come from `flush` or `close`.
        """
        binary = "b" in mode
        raw = self._told(path, self._opened, mode.replace("b", "") if binary else mode)
        buffered = _buffered(raw)
        return buffered if binary else io.TextIOWrapper(buffered, encoding, errors, newline)

    def _opened(self, key: str, mode: str) -> io.FileIO:
        if mode == "r":
            file = io.FileIO(self._files.open_reading(key))
            file.name = shown(key)
            return file
        if mode not in _MODES:
            raise UsageError(f"there is no mode {mode!r} to open a file in", fix="use one of r, w, a, x, with + and b")
        return self._files.open_writing(key, mode)

    def read_bytes(self, path: AnyPath) -> bytes:
        return self._told(path, self._files.read)

    def read_text(self, path: AnyPath, encoding: str = "utf-8") -> str:
        """With line ends as they are."""
        data = self.read_bytes(path)
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            reason = f"{error.reason} at byte {error.start}"
        raise WorkspaceError(
            f"{shown(key_of(path))} is no text in {encoding}",
            where=shown(key_of(path)),
            evidence=reason,
            fix="read it as bytes, or name its encoding",
        )

    def write_bytes(self, path: AnyPath, data: "bytes | bytearray | memoryview") -> None:
        """The whole file in one step. If there is no room, the old one stays."""
        self._told(path, self._files.write, bytes(data))

    def write_text(self, path: AnyPath, text: str, encoding: str = "utf-8") -> None:
        self.write_bytes(path, text.encode(encoding))

    def list(self, path: AnyPath = "/workspace") -> tuple[Entry, ...]:
        """What is in a folder, by name. A link is shown as one."""
        return self._told(path, self._files.entries)

    def stat(self, path: AnyPath) -> Entry:
        """Of what a link leads to."""
        return self._told(path, self._files.entry)

    def exists(self, path: AnyPath) -> bool:
        """A path that leads out is refused here as well, and not just absent."""
        return self._told(path, self._files.exists)

    def make_folder(self, path: AnyPath, *, parents: bool = True) -> None:
        """With `parents` those above are made too, and one that is there already will do."""
        self._told(path, self._files.make_folder, parents=parents)

    def delete(self, path: AnyPath) -> None:
        """A file, a link, or an empty folder."""
        self._told(path, self._files.delete)

    def delete_tree(self, path: AnyPath) -> None:
        """With all that is in it."""
        self._told(path, self._files.delete_tree)

    def rename(self, path: AnyPath, to: AnyPath) -> None:
        """A file that has the other name is replaced. In the course of a call, a folder is moved piece by piece."""
        self._told(path, self._files.rename, key_of(to))

    def host_path(self, path: AnyPath) -> str:
        """Where it lies on this machine: to show to an operator, or to mount. Who opens it by this is not confined."""
        key = key_of(path)
        return str(self._place / key) if key else str(self._place)

    def path_of(self, host_path: AnyPath) -> str:
        """How an agent names what lies there on this machine."""
        place = Path(os.path.normpath(os.fspath(host_path)))
        for root in (self._place, self._real_place):
            if place == root or root in place.parents:
                return shown(key_of(str(place.relative_to(root))))
        raise PathRefused("a path of this machine that is outside of the workspace", fix="use files of the workspace")

    def _told(self, path: AnyPath, act: Callable[Concatenate[str, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the system says, in our words, and raised when its own error is dealt with: none hangs on to ours."""
        key = key_of(path)
        if self._closed:
            raise UsageError("this workspace is closed", fix="open it again")
        try:
            return act(key, *args, **kwargs)
        except OSError as error:
            failure = told(error, key)
        raise failure


def _buffered(raw: io.FileIO) -> IO[bytes]:
    if not raw.writable():
        return io.BufferedReader(raw)
    return io.BufferedRandom(raw) if raw.readable() else io.BufferedWriter(raw)
