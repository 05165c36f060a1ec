"""Files of level marks: `level` beside `files` in the folder of each workspace, and the note in the state folder that
the workspaces of a store have marks. Sandboxes show `files` only, so no server reaches a mark."""

import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Thread

from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.files.regular_file import open_regular, regular_descriptor
from bascule.store.audit.file import sync_data
from bascule.store.levels.level_mark import (
    LOST,
    NOT_A_MARK,
    Absent,
    Found,
    LevelMark,
    Unusable,
    read_mark,
    seal_mark,
)
from bascule.store.secrets.key_files import FOLDER as KEYS
from bascule.store.secrets.key_files import KeyFiles, sync_folder
from bascule.store.secrets.keys import level_key
from bascule.store.secrets.process_lock import taken
from bascule.workspace.directory import FILES, home_name

MARK = "level"
NEW = "level.new"
LOCK = "level.lock"
"""Held while a mark is replaced, and by a declassification until it has replaced the mark."""

NOTES = "level-marks"
"""Folder in the state folder, with one note for each store and folder of workspaces whose marks were made."""

MOST = 16 * 1024
"""Largest mark that is read, in bytes. Two ids of 255 characters, escaped, take 6 KB."""

PATIENCE = 2.0
"""Seconds for the lock. It is held for one or two syncs of the disk; after that its holder hangs."""

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.016
"""Seconds between two tries for the lock. Doubled each time."""

ATTEMPTS = 3
"""Reads of a mark that cannot be read, a pause apart. One that is written in place is whole again in microseconds."""


class MarkFiles:
    """The marks below one folder of workspaces. May be used from any thread; raises `OSError`."""

    def __init__(self, root: Path, state_folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root.absolute()
        self._notes = state_folder / NOTES
        self._keys = KeyFiles(state_folder / KEYS)
        self._clock = clock
        self._key: bytes | None = None
        self.complete = False
        """Every workspace with files must have a mark. False until the marks of older workspaces are made."""

    def has_workspace(self, principal: Principal) -> bool:
        """True if there is a folder, also one that cannot be looked at."""
        if isinstance(principal, Nobody):
            return False
        try:
            os.lstat(self._home(principal))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def find(self, principal: Principal) -> Found:
        """The mark of a workspace. Reads without the lock, so a mark that is just being written is read again."""
        if not self.has_workspace(principal):
            return Absent.NO_WORKSPACE
        found = self._read(principal)
        for _ in range(ATTEMPTS - 1):
            if found != Unusable(NOT_A_MARK):
                break
            time.sleep(FIRST_PAUSE)
            found = self._read(principal)
        return found

    def _read(self, principal: Principal) -> Found:
        home = self._home(principal)
        try:
            _check_home(home)
            with open_regular(home / MARK, os.O_NOFOLLOW) as file:
                _check_owner(os.fstat(file.fileno()), stat.S_ISREG, "the level mark of its workspace")
                sealed = file.read(MOST)
        except FileNotFoundError:
            return self._without_mark(home)
        except OSError as error:
            return Unusable(f"the level mark of its workspace cannot be read: {error.strerror}")
        return read_mark(sealed, principal, self._sealing_key())

    def _home(self, principal: Principal) -> Path:
        return self._root / home_name(principal)

    def _without_mark(self, home: Path) -> Found:
        try:
            with os.scandir(home / FILES) as entries:
                used = next(entries, None) is not None
        except FileNotFoundError:
            return Absent.UNMARKED if home.is_dir() else Absent.NO_WORKSPACE
        except OSError as error:
            return Unusable(f"its workspace has no level mark, and its files cannot be listed: {error.strerror}")
        return Unusable(LOST) if used and self.complete else Absent.UNMARKED

    @contextmanager
    def locked(self, principal: Principal) -> Generator[None]:
        """Holds the lock of a workspace, which must exist. The kernel releases it when a process ends."""
        home = self._home(principal)
        _check_home(home)
        path = home / LOCK
        descriptor = regular_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            self._acquire(descriptor, path)
            yield
        finally:
            os.close(descriptor)

    def _acquire(self, descriptor: int, path: Path) -> None:
        deadline, pause = self._clock() + PATIENCE, FIRST_PAUSE
        while not taken(descriptor):
            if self._clock() > deadline:
                raise OSError(None, f"another process holds its lock for over {PATIENCE:g} s", str(path))
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def write(self, mark: LevelMark, *, sync: bool = True) -> None:
        """Writes a mark, whatever is in its place. The caller holds the lock. With `sync`, on disk when this
        returns."""
        home = self._home(Principal(mark.user_id, mark.session_id))
        sealed = seal_mark(mark, self._sealing_key())
        if sync and _write_in_place(home / MARK, sealed):
            return
        fresh = home / NEW
        fresh.unlink(missing_ok=True)
        descriptor = regular_descriptor(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "wb") as file:
            file.write(sealed)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        try:
            fresh.replace(home / MARK)
        except IsADirectoryError:
            (home / MARK).rename(home / f"{MARK}.{os.urandom(4).hex()}")
            fresh.replace(home / MARK)
        if sync:
            sync_folder(home)

    def make(self, mark: LevelMark) -> None:
        """Makes the mark of a workspace that has none and needs one."""
        principal = Principal(mark.user_id, mark.session_id)
        if self.find(principal) is not Absent.UNMARKED:
            return
        private = mark.level > DataSensitivity.PUBLIC
        with self.locked(principal):
            if self.find(principal) is not Absent.UNMARKED:
                return
            self.write(mark, sync=private)
        if not private:
            # In a thread: the event loop may open a workspace. A mark that a loss of power takes makes the agent
            # session SECRET.
            Thread(target=_sync, args=(self._home(principal),), name="bascule level mark", daemon=True).start()

    def homes(self) -> frozenset[str]:
        """Names of the folders of workspaces."""
        try:
            with os.scandir(self._root) as entries:
                return frozenset(entry.name for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()

    def read_note(self, store: str) -> None:
        """Finds out whether the workspaces of a store have their marks."""
        self.complete = os.path.lexists(self._note_of(store))

    def write_note(self, store: str) -> None:
        """Notes that every workspace of a store has its mark."""
        path = self._note_of(store)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = regular_descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(f"store {store}\nworkspaces {self._root}\n"))
        self.complete = True

    def _note_of(self, store: str) -> Path:
        return self._notes / sha256(os.fsencode(f"{store}\n{self._root}")).hexdigest()[:32]

    def _sealing_key(self) -> bytes:
        if self._key is None:
            self._key = level_key(self._keys)
        return self._key


def _write_in_place(path: Path, sealed: bytes) -> bool:
    """Overwrites a mark of the same length, which takes one sync of data and none of folders. Returns False where there
    is nothing to overwrite."""
    try:
        descriptor = regular_descriptor(path, os.O_WRONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if (status.st_uid, status.st_size, status.st_nlink) != (os.geteuid(), len(sealed), 1):
            return False
        if os.pwrite(descriptor, sealed, 0) < len(sealed):
            raise OSError(None, "only a part of it was written", str(path))
        sync_data(descriptor)
        return True
    finally:
        os.close(descriptor)


def _check_home(home: Path) -> None:
    _check_owner(home.lstat(), stat.S_ISDIR, "the folder of its workspace")


def _check_owner(status: os.stat_result, kind: Callable[[int], bool], what: str) -> None:
    if not kind(status.st_mode):
        raise OSError(None, f"{what} is something else")
    if status.st_uid != os.geteuid():
        raise OSError(None, f"{what} belongs to another user")


def _sync(home: Path) -> None:
    """Syncs the mark of a new workspace. A failure costs nothing but after a loss of power."""
    try:
        descriptor = regular_descriptor(home / MARK, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(home)
    except OSError:
        return
