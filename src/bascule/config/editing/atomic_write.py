"""Atomic replacement of a text file: a reader sees the old text or the new one, never a part."""

import os
import secrets
import stat
from pathlib import Path


def replace_file(path: Path, text: str, mode: int = 0o666) -> None:
    """`mode` is for a file that is not there yet; one that is keeps its own. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
