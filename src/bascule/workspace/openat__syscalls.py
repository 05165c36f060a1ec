"""Two calls of the Linux kernel that Python does not have: `openat2` and `renameat2`."""

import ctypes
import errno
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

NO_XDEV, NO_MAGICLINKS, NO_SYMLINKS, BENEATH = 1, 2, 4, 8
"""How `openat2` may find its way."""

_OPENAT2 = 437
"""The number of the call, on every architecture that Python runs on but one."""
_EXCHANGE = 2
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
"""How a system says that it cannot exchange. EPERM is how older containers refuse calls that they do not know."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW_SIZE = ctypes.sizeof(_How)


def _function(name: str, *arguments: Any) -> Callable[..., int] | None:
    try:
        found = ctypes.CDLL(None, use_errno=True)[name]
    except (AttributeError, OSError):
        return None
    found.argtypes, found.restype = list(arguments), ctypes.c_long
    return found


_syscall = _function("syscall", ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_How), ctypes.c_size_t)
_renameat2 = _function("renameat2", ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)


@lru_cache(maxsize=256)
def _how(flags: int, mode: int, resolve: int) -> Any:
    """The kernel only reads it, so one is made for each way of opening."""
    return ctypes.pointer(_How(flags, mode, resolve))


def openat2(folder: int, path: bytes, flags: int, mode: int, resolve: int) -> int:
    """A descriptor. An error names no file."""
    if _syscall is None:
        raise OSError(errno.ENOSYS, "no openat2")
    fd = _syscall(_OPENAT2, folder, path, _how(flags, mode, resolve), _HOW_SIZE)
    if fd < 0:
        raise _failed()
    return fd


def exchange(folder: int, name: str, other_folder: int, other_name: str) -> bool:
    """Two entries change places in one step. False where the system or the file system cannot do that."""
    if _renameat2 is None:
        return False
    if _renameat2(folder, os.fsencode(name), other_folder, os.fsencode(other_name), _EXCHANGE) == 0:
        return True
    failure = _failed()
    if failure.errno in _CANNOT:
        return False
    raise failure


def _failed() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
