"""Confined opening below a folder, by Linux's `openat2` (ctypes) or by a walk folder by folder, and `renameat2`.
Neither follows a symbolic link: a caller that wants links followed reads them and opens again, so the path of an open
file is always known, and a link that is put in place in between is an error and no way out."""

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol

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


PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""Open to look, or to go on from there. Linux can do that without opening anything."""

_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW
_RESOLVE = BENEATH | NO_SYMLINKS | NO_MAGICLINKS | NO_XDEV
"""What is mounted inside is refused too: it is nobody's own file, the quota would not count it, and nothing could be
moved from there to where originals are kept."""

_TRIES = 64
"""The kernel asks to be asked again where something was renamed under it, or a signal came."""

_AGAIN = {errno.EAGAIN, errno.EINTR}


class Engine(Protocol):
    """Opens below a folder. An error is an OSError that names nothing of the host."""

    def open(self, root: int, key: str, flags: int, mode: int = 0) -> int: ...


class KernelEngine:
    """`openat2`: one call, and the kernel sees to it that it never leaves the folder."""

    def open(self, root: int, key: str, flags: int, mode: int = 0) -> int:
        path = key.encode("utf-8", "surrogateescape") or b"."
        for _ in range(_TRIES):
            try:
                return openat2(root, path, flags | os.O_CLOEXEC, mode, _RESOLVE)
            except OSError as error:
                if error.errno not in _AGAIN:
                    raise
        raise OSError(errno.EAGAIN, "renamed again and again")


class WalkEngine:
    """One folder after the other, each opened in the one before, and no link followed."""

    def open(self, root: int, key: str, flags: int, mode: int = 0) -> int:
        if not key:
            return os.open(".", flags | _ALWAYS, dir_fd=root)
        *folders, name = key.split("/")
        here = root
        try:
            for folder in folders:
                below = _entered(here, folder)
                _left(here, root)
                here = below
            fd = _opened(here, name, flags | _ALWAYS, mode)
        finally:
            _left(here, root)
        return _on_the_same_disk(fd, root)


def best_engine(root: int) -> Engine:
    """The kernel's, where it answers. Systems without it, and boxes that forbid it, get the other one."""
    kernel = KernelEngine()
    with suppress(OSError):
        os.close(kernel.open(root, "", PATH_ONLY | os.O_DIRECTORY))
        return kernel
    return WalkEngine()


def _entered(folder: int, name: str) -> int:
    fd = _opened(folder, name, PATH_ONLY | os.O_DIRECTORY | _ALWAYS, 0)
    return _on_the_same_disk(fd, folder)


def _opened(folder: int, name: str, flags: int, mode: int) -> int:
    try:
        return os.open(name, flags, mode, dir_fd=folder)
    except OSError as error:
        number = error.errno
    # Where a folder is wanted a link is called "no folder"; it has to be told apart.
    if number == errno.ENOTDIR and stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
        number = errno.ELOOP
    raise OSError(number or errno.EIO, "not opened")


def _on_the_same_disk(fd: int, folder: int) -> int:
    if os.fstat(fd).st_dev == os.fstat(folder).st_dev:
        return fd
    os.close(fd)
    raise OSError(errno.EXDEV, "on another disk")


def _left(folder: int, root: int) -> None:
    if folder != root:
        os.close(folder)
