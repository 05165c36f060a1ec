"""What a layer is known by: all that decides what is in it."""

import hashlib
import json
import platform
from functools import cache
from pathlib import Path

from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.layer import FORMAT
from bascule.sandbox.prepare.package import Package

LENGTH = 32


def key_of(package: Package, fetcher: Fetcher) -> str:
    """The program's arguments are not in it: they decide nothing about what is fetched."""
    parts = (
        FORMAT,
        package.kind,
        package.specs,
        package.binary,
        package.options,
        fetcher.tool,
        fetcher.identity,
        platform.machine(),
        _libc(),
        [_version(path) for path in package.files],
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:LENGTH]


def _version(path: str) -> str:
    """A packed package that was packed again is another one."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"


@cache
def _libc() -> tuple[str, str]:
    return platform.libc_ver()
