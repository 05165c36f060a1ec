"""Log file of one server: lines of JSON, appended by several processes, rotated at 1 MiB, readable by its owner
only."""

import fcntl
import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from bascule.files.regular_file import regular_descriptor

MAX_FILE = 1024 * 1024
"""Bytes of a file. One that would grow beyond becomes the older of two; the older one before it is gone."""

FOLDER = "logs"

TRIES = 20
PAUSE = 0.05
"""Seconds between tries to have the file alone. One who holds it for longer hangs, and is not waited for."""


def log_folder(state: Path, home: Path) -> Path:
    """Where the logs of one config's servers lie. However the config is named, it is one folder."""
    digest = hashlib.sha256(str(home.resolve()).encode("utf-8", "surrogatepass")).hexdigest()
    return state / FOLDER / digest[:16]


def log_path(folder: Path, server: str) -> Path:
    return folder / f"{server}.log"


def older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def make_private(folder: Path) -> None:
    """Make the folder and the one around it, closed to everyone else. Raises `OSError`."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for each in (folder.parent, folder):
        each.mkdir(exist_ok=True, mode=0o700)
        status = each.lstat()
        if status.st_uid != os.geteuid():
            raise PermissionError(f"{each} belongs to another user")
        if status.st_mode & 0o077:
            each.chmod(0o700)


def append(path: Path, data: bytes) -> None:
    """Append whole lines, first making room if need be. Raises `OSError`."""
    for _ in range(TRIES):
        descriptor = regular_descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW)
        try:
            _lock(descriptor)
            size = os.fstat(descriptor).st_size
            if not _is_at(path, descriptor):
                continue  # another process has just moved it away
            if size and size + len(data) > MAX_FILE:
                path.replace(older(path))
                continue
            _write(descriptor, data)
        finally:
            os.close(descriptor)
        return


def _lock(descriptor: int) -> None:
    for _ in range(TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(PAUSE)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return there.st_ino == os.fstat(descriptor).st_ino


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a server said on stderr, a change of one of its links, or a word of ours on the log itself."""

    at: float
    """Seconds since the epoch."""
    kind: Literal["stderr", "link", "note"]
    user: str
    session: str
    text: str
    pid: int | None = None
    """The process that said it."""
    state: str | None = None
    """What the link became."""


_decoder = msgspec.json.Decoder(LogLine)
_encoder = msgspec.json.Encoder()


def write_line(line: LogLine) -> bytes:
    return _encoder.encode(line) + b"\n"


def read_line(data: bytes) -> LogLine | None:
    """None for what cannot be read: a disk that was full may have cut a line short."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
