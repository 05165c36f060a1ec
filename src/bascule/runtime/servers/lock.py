"""Tool pinning at run time: the lock file (`bascule.lock`), its atomic replacement, approval of tools, and the lock in
force, which follows its file."""

import asyncio
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bascule.catalog.approval import Proposal, overtaken, with_approved
from bascule.catalog.pinning.lock import LOCK_NAME, Lock, LockedServers, read_lock, write_lock
from bascule.config.model.runtime_config import Locking as Mode
from bascule.core.errors import ConfigError
from bascule.files.regular_file import check_kind, read_regular
from bascule.store.secrets.key_files import sync_folder
from bascule.store.secrets.process_lock import taken

MAX_LOCK = 64 * 1024 * 1024
"""Bytes of a lock file. Ten thousand ordinary tools take fifteen megabytes."""

TICK = 2.0
"""Seconds after which two writes surely have two times. Some file systems keep no more of a time than that."""

LONGEST_WAIT = 10.0
"""Seconds for another process to write the lock. It takes milliseconds."""

PAUSE = 0.02

Stamp = tuple[int, int, int, int]
"""When a file was last written and last changed, its size, and which one it is."""


@dataclass(frozen=True, slots=True)
class LockFile:
    """The file as it was found at one moment."""

    content: LockedServers | ConfigError | None
    """What it says, why it cannot be used, or None where there is no file."""
    stamp: Stamp | None = None
    digest: bytes = b""
    at: float = 0.0
    """Seconds since the epoch."""


def lock_path(config: Path | None) -> Path | None:
    """Where the lock of a config file is. One that was made in code has none."""
    return None if config is None else config.parent / LOCK_NAME


def look_at_lock(path: Path, last: LockFile | None, now: float) -> LockFile:
    """How the file is now: `last` itself, if that says the same."""
    try:
        stamp = _stamp(path)
        if last is not None and stamp == last.stamp and last.at - stamp[1] / 1e9 > TICK:
            return last
        data = read_regular(path, MAX_LOCK + 1)
    except FileNotFoundError:
        return last if last is not None and last.content is None else LockFile(None)
    except OSError as error:
        trouble = _unreadable(path, error.strerror or type(error).__name__)
        return last if last is not None and _told(last.content) == _told(trouble) else LockFile(trouble)
    digest = hashlib.sha256(data).digest()
    content = last.content if last is not None and last.digest == digest else _content(path, data)
    return LockFile(content, stamp, digest, now)


def change_lock(path: Path, change: Callable[[LockedServers], LockedServers]) -> None:
    """Make the file say something else, in one step: whoever reads it meanwhile finds the old or the new one, and of
    two who change it at once neither loses what the other has written. Raises `ConfigError`."""
    # A link stays, and what it leads to is replaced.
    path = Path(os.path.realpath(path))
    try:
        with _alone(path.parent):
            found = look_at_lock(path, None, time.time()).content
            if isinstance(found, ConfigError):
                # What it said would be lost, and nobody has looked at it.
                raise found
            _replace(path, write_lock(change(found or {})))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        fix = f"check who may write to {path.parent}"
        raise ConfigError(f"{path} cannot be written: {reason}", where=str(path), fix=fix) from error


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    check_kind(path, status.st_mode)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _content(path: Path, data: bytes) -> LockedServers | ConfigError:
    if len(data) > MAX_LOCK:
        return _unreadable(path, f"it is larger than {MAX_LOCK:,} bytes")
    try:
        return read_lock(data, str(path))
    except ConfigError as error:
        return error


def _unreadable(path: Path, reason: str) -> ConfigError:
    fix = f"restore {LOCK_NAME} from version control, or remove it and approve every server anew"
    return ConfigError(f"{LOCK_NAME} cannot be used: {reason}", where=str(path), fix=fix)


def _told(content: LockedServers | ConfigError | None) -> str | None:
    return content.message if isinstance(content, ConfigError) else None


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Hold the folder: the file itself is another one after each change. The kernel frees it when a process ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + LONGEST_WAIT
        while not taken(descriptor):
            if time.monotonic() > deadline:
                raise OSError(0, "another process holds it, and does not let go")
            time.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def approve(path: Path, servers: Iterable[str], agreed: Iterable[Proposal]) -> None:
    """Have the lock's file say that these are approved, and the servers locked from then on. Raises `ConfigError`, and
    nothing has changed then. Reads and writes: not for the loop's own thread."""
    locking, accepted = tuple(servers), tuple(agreed)

    def approved(locked: LockedServers) -> LockedServers:
        late = overtaken(locked, accepted)
        if late:
            told = f"{LOCK_NAME} was changed meanwhile, and says something else of {late[0]} than you were shown"
            raise ConfigError(told, fix="run `bascule approve` again")
        return with_approved(locked, locking, accepted)

    change_lock(path, approved)


EVERY = 1.0
"""Seconds between looks on nobody's behalf: who only calls tools it knows is never the reason for one, and what is no
longer approved must stop for it too."""


class Locking:
    """Which lock holds, by the mode of the config and the file beside it."""

    def __init__(self, mode: Mode, path: Path | None) -> None:
        self._every = mode == "required"
        self.path = None if mode == "off" else path
        """The file. None where nothing is held against one."""
        self._seen: LockFile | None = None
        self._turn = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self.lock = Lock(every=self._every)
        """The same object for as long as it says the same."""

    async def look(self) -> bool:
        """Look at the file. Whether another lock holds from now on: then the caller has to act on it before it waits
        for anything."""
        if self.path is None:
            return False
        async with self._turn:
            # In a thread: a file may lie on a disk that hangs.
            found = await asyncio.to_thread(look_at_lock, self.path, self._seen, time.time())
            before, self._seen = self._seen, found
            if before is not None and before.content is found.content:
                return False
            return self._adopt(found)

    def watch(self, follow: Callable[[], Awaitable[object]]) -> None:
        """Have `follow` called every now and then, until closed."""
        if self.path is not None:
            self._watching = asyncio.create_task(self._watch(follow), name="watching the lock")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))
            self._watching = None

    async def _watch(self, follow: Callable[[], Awaitable[object]]) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await follow()

    def _adopt(self, found: LockFile) -> bool:
        content = found.content
        if isinstance(content, ConfigError):
            lock = Lock(every=self._every, trouble=content)
        elif content is not None:
            lock = Lock(content, every=self._every)
        elif self._every:
            lock = Lock(every=True)
        else:
            # A lock that goes away while it is in use opens nothing: a file that is being replaced may be gone for a
            # moment, and the tools it kept back would be free for as long.
            return False
        changed = lock != self.lock
        if changed:
            self.lock = lock
        return changed
