"""The whole content of one open file into another, shared between the two where the file system can."""

import errno
import os

_CHUNK = 1 << 20
_CANNOT = {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
"""How systems say that the kernel will not copy here. Some file systems then want it done by hand."""


def copy(source: int, target: int) -> None:
    """From the first byte to the last, wherever the two stand; the source stays where it stands."""
    at = _by_kernel(source, target)
    while chunk := os.pread(source, _CHUNK, at):
        at += write_all(target, chunk, at)


def _by_kernel(source: int, target: int) -> int:
    """How far it came."""
    at = 0
    try:
        while done := os.copy_file_range(source, target, 1 << 30, at, at):
            at += done
    except AttributeError:  # not on this system
        return at
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    return at


def write_all(target: int, data: "bytes | memoryview", at: int | None = None) -> int:
    """At a place, or where the file stands. The kernel may take less than it is given, and says so."""
    done = 0
    while done < len(data):
        rest = data[done:]
        done += os.write(target, rest) if at is None else os.pwrite(target, rest, at + done)
    return done
