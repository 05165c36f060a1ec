"""Secrets in files of mode 0600. A file that other users can read is rejected: its secret may have leaked."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from bascule.core.errors import StoreError
from bascule.files.regular_file import NotRegular, fix_of, open_regular

FOLDER = "keys"

MAX_SECRET = 1024 * 1024
"""Largest secret read, in bytes. The largest are logins, of a few kilobytes."""


class KeyFiles:
    """A folder of secrets, one file each. Writing replaces a file in one step; nothing is ever half written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        path = self._folder / name
        try:
            self._check_folder()
            opened = open_regular(path, os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable(path, error) from error
        with opened as file:
            _check(path, os.fstat(file.fileno()))
            data = file.read(MAX_SECRET + 1)
        if len(data) > MAX_SECRET:
            raise StoreError(f"{path} is not used: it is larger than {MAX_SECRET} bytes", fix=f"remove {path}")
        return data

    def write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        self.make_folder()
        try:
            self._replace(path, data)
        except OSError as error:
            raise _unusable(path, error) from error

    def create(self, name: str, data: bytes) -> bytes:
        """What is kept under this name; this, if there was nothing. Of several processes the first one wins."""
        path = self._folder / name
        self.make_folder()
        try:
            self._link(path, data)
        except OSError as error:
            raise _unusable(path, error) from error
        kept = self.read(name)
        return data if kept is None else kept

    def delete(self, name: str) -> None:
        path = self._folder / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(path, error) from error

    def make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._check_folder()
        except OSError as error:
            raise _unusable(self._folder, error) from error

    def _check_folder(self) -> None:
        _check(self._folder, self._folder.lstat())

    def _replace(self, path: Path, data: bytes) -> None:
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            write_new(fresh, data)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        sync_folder(self._folder)

    def _link(self, path: Path, data: bytes) -> None:
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            write_new(fresh, data)
            # Unlike a rename, this replaces nothing.
            with suppress(FileExistsError):
                path.hardlink_to(fresh)
        finally:
            fresh.unlink(missing_ok=True)
        sync_folder(self._folder)


def write_new(path: Path, data: bytes) -> None:
    """A file that only we can read, on disk when this returns. Its name is on disk after `sync_folder`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise StoreError(
            f"{path} is not used: it belongs to another user",
            evidence=f"owner {status.st_uid}, we are {os.geteuid()}",
            fix=f"remove {path}, then run `bascule login` again",
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        wanted = "700" if stat.S_ISDIR(status.st_mode) else "600"
        raise StoreError(
            f"{path} is not used: others than you may read or change it",
            evidence=f"mode {mode:04o}",
            cause="it was copied or changed by hand; whoever has read it can act as you",
            fix=f"run `chmod {wanted} {path}` if nobody else has used this machine; else log out and in again",
        )


def _unusable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be used: {error.strerror or error}",
        cause="" if isinstance(error, NotRegular) else "the folder is not ours to write, or the disk is full",
        fix=fix_of(path, error, f"make {path.parent} yours") + ", or set BASCULE_HOME to another folder",
    )
