"""The lock as a file: looked at without being read twice, and replaced in one step."""

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bascule.catalog.pinning.lock import LOCK_NAME, LockedServers, read_lock, write_lock
from bascule.core.errors import ConfigError
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
        stamp = _stamp(path.stat())
        if last is not None and stamp == last.stamp and last.at - stamp[1] / 1e9 > TICK:
            return last
        data = _read(path)
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


def _stamp(status: os.stat_result) -> Stamp:
    # Reading anything else, a pipe say, could wait for ever.
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is no file")
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _read(path: Path) -> bytes:
    # What was a file a moment ago may be a pipe now, and opening one waits for who writes to it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(MAX_LOCK + 1)


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
