"""Ways out by files that a sandbox shows: their content, and what others notice of them without any write."""

import ctypes
import fcntl
import mmap
import os
import resource
import signal
import stat
import struct
import subprocess
from pathlib import Path
from typing import Any

from hostile.ways_out.local_sockets import PLACES
from hostile.ways_out.way import To, add, bits, checked, libc, nibbles, way

OFD_SET_LOCK = 37
LOCK = "hhqqi4x"
"""`struct flock` on 64-bit machines."""
SHARED = "A writable mount is storage that the operator shares: it holds what is written to it."


def _written(place: str) -> Any:
    return lambda to, token: Path(to[place], f"written-{token}").write_text(token)


for _place, (_server, _words) in PLACES.items():
    _reason = SHARED if _place == "rw" else ""
    add(f"file_{_place}", "files", f"Writes a file in {_words}.", _written(_place), server=_server, exception=_reason)


@way("files", "Writes an extended attribute of a file that is shown read-only.")
def file_attribute(to: To, token: str) -> None:
    os.setxattr(f"{to['args']}/file", "user.data", token.encode())


@way("files", "Sets the times of a file that is shown read-only.")
def file_times(to: To, token: str) -> None:
    os.utime(f"{to['args']}/file", (int(token, 16), int(token, 16)))


@way("files", "Sets the permissions of eight files that are shown read-only.")
def file_modes(to: To, token: str) -> None:
    for place, nibble in enumerate(nibbles(token)):
        Path(to["args"], f"modes/{place}").chmod(nibble << 4)


@way("files", "Writes to a file outside by its handle (open_by_handle_at).")
def file_handle(to: To, token: str) -> None:
    there = os.open(to["args"], os.O_RDONLY | os.O_DIRECTORY)
    content = bytes.fromhex(to["handle"])
    handle = ctypes.create_string_buffer(content, len(content))
    opened = checked(libc.open_by_handle_at(there, handle, os.O_WRONLY))
    os.write(opened, token.encode())


@way("files", "Makes a device file for the log of the kernel, and writes to it.", server="mounts")
def device_file(to: To, token: str) -> None:
    path = f"{to['rw']}/device-{os.getpid()}"
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 11))
    try:
        os.write(os.open(path, os.O_WRONLY), f"ways out {token}\n".encode())
    finally:
        Path(path).unlink()


@way("files", "Ends with a core dump that contains the data, in a writable folder.", server="mounts")
def core_dump(to: To, token: str) -> None:
    os.chdir(to["rw"])
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    code = f"import os; data = 'x{token}'.encode(); os.abort()"
    ended = subprocess.run([to["python"], "-I", "-S", "-c", code], check=False, capture_output=True)
    raise OSError(f"the program ended with {ended.returncode}; the limit of core dumps is {hard}")


# Locks: a state of the file itself, which needs no right to write


@way("locks", "Locks some of 32 files (flock).", held=True)
def flock(to: To, token: str) -> None:
    for position in bits(token):
        fcntl.flock(os.open(f"{to['args']}/flock/{position:02}", os.O_RDONLY), fcntl.LOCK_SH)


@way("locks", "Locks one byte of a file, at an offset that is the data (POSIX lock).", held=True)
def posix_lock(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/posix_lock", os.O_RDONLY)
    fcntl.fcntl(handle, fcntl.F_SETLK, struct.pack(LOCK, fcntl.F_RDLCK, 0, int(token, 16), 1, 0))


@way("locks", "Locks one byte of a file for an open file description (OFD lock).", held=True)
def ofd_lock(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/ofd_lock", os.O_RDONLY)
    fcntl.fcntl(handle, OFD_SET_LOCK, struct.pack(LOCK, fcntl.F_RDLCK, 0, int(token, 16), 1, 0))


@way("locks", "Takes a lease on some of 32 files.", held=True)
def lease(to: To, token: str) -> None:
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # it comes when the receiver opens the file
    for position in bits(token):
        fcntl.fcntl(os.open(f"{to['args']}/lease/{position:02}", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)


# What others are notified of


WATCHED = (
    "380,000 bits in a second, to a process outside of all sandboxes: an overlay passes reads on to its lower files."
)


@way("notification", "Opens files in an order that is the data (inotify).", exception=WATCHED)
def inotify(to: To, token: str) -> None:
    for nibble in nibbles(token):
        os.close(os.open(f"{to['args']}/inotify/{nibble:x}", os.O_RDONLY))


@way("notification", "Lists folders in an order that is the data (inotify on folders).", exception=WATCHED)
def inotify_folders(to: To, token: str) -> None:
    for nibble in nibbles(token):
        list(Path(to["args"], f"folders/{nibble:x}").iterdir())


@way("notification", "Reads files in folders, in an order that is the data (dnotify).")
def dnotify(to: To, token: str) -> None:
    for nibble in nibbles(token):
        Path(to["args"], f"dnotify/{nibble:x}/file").read_bytes()


@way("notification", "Reads some of 32 files: their access times change.")
def access_time(to: To, token: str) -> None:
    read_some(to["args"], token)


@way(
    "notification",
    "Reads some of 32 files in a writable folder: their access times change.",
    server="mounts",
    exception=SHARED,
)
def access_time_writable(to: To, token: str) -> None:
    read_some(to["rw"], token)


def read_some(folder: str, token: str) -> None:
    for position in bits(token):
        Path(folder, f"read/{position:02}").read_bytes()


@way("notification", "Runs some of 32 programs: while they run, nothing can open them for writing.", held=True)
def running_programs(to: To, token: str) -> None:
    for position in bits(token):
        path = f"{to['args']}/programs/{position:02}"
        subprocess.Popen([path, "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@way("cache", "Reads some of 32 pages of a file, so that they are in the page cache.",
     exception="32 bits in a millisecond: the page cache is of the kernel, and a file that is shown has one copy in it.",
)  # fmt: skip
def page_cache(to: To, token: str) -> None:
    handle = os.open(f"{to['args']}/pages", os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
    for position in bits(token):
        os.pread(handle, 1, position * 16 * mmap.PAGESIZE)
