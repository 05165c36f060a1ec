"""Internal address of a worker: a Unix socket for workers of its own machine, a URL for gateways on other machines."""

import os
import secrets
import socket
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bascule.config.urls import url_flaw
from bascule.core.errors import ConfigError, StoreError
from bascule.gateway.http.server import BACKLOG, listen_at

FOLDER = "workers"
UNSEEN = "."
NONE = "-"
"""Stands where there is no URL."""

LONGEST_PATH = 100
"""Bytes of a socket's path. The systems allow 103 to 107."""


class InnerAddress(msgspec.Struct, frozen=True):
    """One worker's."""

    path: str
    place: str
    """Tells the folder of the socket from all others, on this machine and elsewhere."""
    url: str = ""
    """Of its machine: all workers there share it."""

    @classmethod
    def read(cls, text: str) -> "InnerAddress":
        place, url, path = [*text.split(" ", 2), "", ""][:3]
        return cls(path, place, "" if url == NONE else url)

    def __str__(self) -> str:
        return f"{self.place} {self.url or NONE} {self.path}"

    def remove(self) -> None:
        """Take the socket away, at the end."""
        with suppress(OSError):
            Path(self.path).unlink(missing_ok=True)

    def is_beside(self, other: "InnerAddress") -> bool:
        """Whether each can reach the other's socket: then one that is not there says that its process has ended."""
        return self.place == other.place


def socket_in(state_folder: Path, url: str = "") -> tuple[socket.socket, InnerAddress]:
    """A socket file of this process's own, in a folder that only its user can enter. Raises `StoreError`."""
    folder = _folder(state_folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check(folder)
        _sweep(folder)
        path = folder / secrets.token_hex(8)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Not seen before it listens: to who sweeps, one that does not is one that was left behind.
            unseen = path.with_name(f"{UNSEEN}{path.name}")
            listening.bind(str(unseen))
            unseen.chmod(0o600)
            listening.listen(BACKLOG)
            unseen.rename(path)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise StoreError(
            f"workers cannot reach each other by a socket file in {folder}",
            evidence=error.strerror or str(error),
            fix="let the state folder be one that only you can read and write, on a disk that has room",
        ) from error
    return listening, InnerAddress(str(path), _place(folder), url)


def listen_within(url: str) -> socket.socket:
    """The socket for other machines. Raises `ConfigError`."""
    flaw = url_flaw(url)
    parts = urlsplit(url)
    if flaw or parts.scheme not in {"http", "https"} or parts.port is None or parts.path not in {"", "/"}:
        raise ConfigError(
            "--internal-url names no place at which this machine can be reached by other gateways",
            fix="give it as http://ADDRESS:PORT or https://…, an address of this machine in a network of your own",
        )
    fix = "give an address of this machine, and a port at which nothing else listens, with --internal-url"
    return listen_at(parts.hostname or "", parts.port, named=url, fix=fix)


def _folder(state_folder: Path) -> Path:
    beside = state_folder.absolute() / FOLDER
    if len(os.fsencode(beside / ("0" * 17))) <= LONGEST_PATH:
        return beside
    name = sha256(os.fsencode(beside)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"bascule-{os.geteuid()}-{name}"


def _check(folder: Path) -> None:
    """In a folder for temporary files, somebody else may have been there first."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise OSError(f"{folder} is not ours alone")


def _place(folder: Path) -> str:
    status = folder.stat()
    try:
        machine = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        machine = socket.gethostname()
    return f"{machine}/{status.st_dev}/{status.st_ino}"


def _sweep(folder: Path) -> None:
    """Take away what workers that were killed have left."""
    for path in folder.glob("[!.]*"):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as tried:
            tried.settimeout(1)
            try:
                tried.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
