"""Package layer: a fetched package, read-only, from which every sandbox with the same command starts. With its record,
integrity check, and the cache key of all inputs that decide its content."""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from bascule.core.errors import SandboxError
from bascule.files.regular_file import read_regular
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.layer_files import content_digest, look_digest
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.spec.box import Mount

RECORD = "layer.json"
TREE = "tree"

FORMAT = 1
"""What lies in a layer, and how it is written down. Another format is another key."""


class Record(msgspec.Struct, frozen=True):
    """What is written down of a layer, beside its files and never among them."""

    format: int
    described: str
    runner: str
    pinned: bool
    program: str
    """From the tree on."""
    interpreter: str
    needed: tuple[str, ...]
    digest: str
    look: str
    size: int
    made: float
    """When, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as a command uses it."""

    argv: tuple[str, ...]
    """The command, with the fetched program in the place of what would fetch it: by its path in the box."""
    mounts: tuple[Mount, ...]
    env: Mapping[str, str]
    """What is to be set in addition."""
    digest: str
    described: str


@dataclass(frozen=True, slots=True)
class Kept:
    """One layer that lies in the state folder, for who looks there."""

    key: str
    described: str
    pinned: bool
    size: int
    made: float
    digest: str


def written(record: Record) -> bytes:
    return msgspec.json.encode(record)


def read_record(folder: Path) -> Record | None:
    """What is written of a layer, or None where there is no layer. Raises `SandboxError` if it cannot be read."""
    path = folder / RECORD
    try:
        return msgspec.json.decode(read_regular(path), type=Record)
    except FileNotFoundError:
        if not folder.is_dir():
            return None
        raise _spoilt(folder, f"{RECORD} is missing") from None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _spoilt(folder, str(error)) from error


def looked_over(folder: Path, record: Record) -> str:
    """The look of an untouched layer. Raises `SandboxError` if it is not as it was made.

    Looking costs milliseconds, reading all of it seconds: that is done only where the look is another one, as it is of
    a state folder that was copied.
    """
    tree = folder / TREE
    try:
        look = look_digest(tree)
        if look == record.look:
            return look
        found = content_digest(tree)
    except OSError as error:
        raise _spoilt(folder, str(error)) from error
    if found != record.digest:
        raise _spoilt(folder, f"digest {found[:12]}…, made with {record.digest[:12]}…")
    return look


def _spoilt(folder: Path, evidence: str) -> SandboxError:
    return SandboxError(
        f"the prepared package in {folder} is not as it was fetched",
        where="prepare",
        evidence=evidence,
        cause="somebody changed it, or a disk did; what it would run is not known",
        fix=f"find out who; then `bascule sandbox rm {folder.name}`, and it is fetched again",
    )


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
