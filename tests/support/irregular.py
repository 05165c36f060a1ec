"""Paths that lead to something else than a regular file."""

import os
import socket
from pathlib import Path

from bascule.records.server_logs.file import log_folder

KINDS = ("a FIFO", "a folder", "a socket", "a device")


def put(kind: str, path: Path) -> None:
    """Put one of `KINDS` at a path, in place of a file that may be there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    match kind:
        case "a FIFO":
            os.mkfifo(path, 0o600)
        case "a folder":
            path.mkdir(mode=0o700)
        case "a device":
            path.symlink_to("/dev/zero")
        case _:
            # The path of a socket has at most 107 bytes: it is bound from within its folder.
            made, here = socket.socket(socket.AF_UNIX), Path.cwd()
            os.chdir(path.parent)
            try:
                made.bind(path.name)
            finally:
                os.chdir(here)
                made.close()


def log_of_work(folder: Path) -> Path:
    """The log file of the server `work` in the config of a folder."""
    return log_folder(folder / "state", folder / "bascule.yaml") / "work.log"
