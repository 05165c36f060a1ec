"""Channels between two processes by the state of one inode, for tests: a sender, a receiver, and a stdio MCP server that is
either. Standard library only: it runs in sandboxes with `python -I -S`.

A bit is sent in three steps: the receiver prepares, the sender does something or nothing, the receiver looks.
"""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)

READ_EVENTS = 0x31
CHANGE_EVENTS = 0xFCE
"""All events of inotify but those of READ_EVENTS."""

F_OFD_GETLK, F_OFD_SETLK, F_SETLEASE, F_NOTIFY = 36, 37, 1024, 1026
DN_ACCESS, DN_MULTISHOT = 0x1, 0x80000000
PREADV2, MINCORE, CACHESTAT, FANOTIFY_INIT, IO_SETUP = {
    "x86_64": (327, 27, 451, 300, 206),
    "aarch64": (286, 232, 451, 262, 0),
}[os.uname().machine]
RWF_NOWAIT = 8
PAGE = os.sysconf("SC_PAGESIZE")

MARK = 710_000_000_000
"""The first byte of a lock that is looked for in /proc/locks."""


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def lock(kind: int) -> bytes:
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0)


class Channel:
    """One end of all channels. Files that it holds open or locked are closed by `rest`."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self.state: int = 0

    def _await_signal(self) -> None:
        signal.signal(signal.SIGIO, self._signalled)

    def _signalled(self, *_: object) -> None:
        self.state += 1

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        self.held.append(os.open(path, flags | os.O_NONBLOCK))
        return self.held[-1]

    def rest(self) -> None:
        """Let go of everything."""
        while self.held:
            os.close(self.held.pop())
        self.state = 0

    # Notification of reads

    def _watch(self, path: str, mask: int) -> None:
        self.held.append(checked(LIBC.inotify_init1(os.O_NONBLOCK)))
        checked(LIBC.inotify_add_watch(self.held[-1], os.fsencode(path), ctypes.c_uint32(mask)))

    def _look_watch(self, _: str) -> bool:
        try:
            return bool(os.read(self.held[-1], 65536))
        except BlockingIOError:
            return False

    def _use(self, path: str) -> None:
        """Reads a file, or lists a folder; a device is written to."""
        if Path(path).is_dir():
            list(Path(path).iterdir())
            return
        flags = os.O_RDWR if path.startswith("/dev/") else os.O_RDONLY
        descriptor = os.open(path, flags | os.O_NONBLOCK)
        if flags == os.O_RDWR:
            os.write(descriptor, b"x")
        os.read(descriptor, 1)
        os.close(descriptor)

    def prepare_inotify(self, path: str) -> None:
        self._watch(path, READ_EVENTS)

    def prepare_changes(self, path: str) -> None:
        self._watch(path, CHANGE_EVENTS)

    def prepare_fanotify(self, _: str) -> None:
        self.held.append(checked(LIBC.syscall(FANOTIFY_INIT, os.O_NONBLOCK, 0)))

    def prepare_dnotify(self, path: str) -> None:
        folder = path if Path(path).is_dir() else str(Path(path).parent)
        self._await_signal()
        fcntl.fcntl(self.open(folder), F_NOTIFY, DN_ACCESS | DN_MULTISHOT)

    def prepare_lease(self, path: str) -> None:
        self._await_signal()
        fcntl.fcntl(self.open(path), F_SETLEASE, fcntl.F_WRLCK)

    def _look_signal(self, _: str) -> bool:
        return self.state > 0

    def prepare_atime(self, path: str) -> None:
        self.state = Path(path).stat().st_atime_ns

    def _look_atime(self, path: str) -> bool:
        return Path(path).stat().st_atime_ns != self.state

    # Locks

    def send_flock(self, path: str) -> None:
        fcntl.flock(self.open(path), fcntl.LOCK_EX)

    def _look_flock(self, path: str) -> bool:
        try:
            fcntl.flock(self.open(path), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

    def send_posix(self, path: str) -> None:
        fcntl.fcntl(self.open(path), fcntl.F_SETLK, lock(fcntl.F_RDLCK))

    def send_ofd(self, path: str) -> None:
        fcntl.fcntl(self.open(path), F_OFD_SETLK, lock(fcntl.F_RDLCK))

    def _look_locked(self, path: str, command: int) -> bool:
        found = fcntl.fcntl(self.open(path), command, lock(fcntl.F_WRLCK))
        return struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK

    def send_listed(self, _: str) -> None:
        """A lock on a file of the sender's own, which /proc/locks lists for every process."""
        folder = os.environ.get("TMPDIR", "/tmp")
        descriptor = self.open(f"{folder}/bascule-listed-{os.getpid()}", os.O_RDWR | os.O_CREAT)
        fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, MARK, 1, 0))

    def _look_listed(self, _: str) -> bool:
        return str(MARK) in Path("/proc/locks").read_text()

    # Pipes and sockets in a folder

    def prepare_fifo(self, path: str) -> None:
        self.open(path)

    def send_fifo(self, path: str) -> None:
        os.write(self.open(path, os.O_WRONLY), b"x")

    def _look_fifo(self, _: str) -> bool:
        try:
            return bool(os.read(self.held[-1], 1))
        except BlockingIOError:
            return False

    def prepare_socket(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.setblocking(False)
            listening.bind(path)
            Path(path).chmod(0o777)
            listening.listen()
            self.held.append(os.dup(listening.fileno()))

    def send_socket(self, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as sending:
            sending.connect(path)

    def _look_socket(self, _: str) -> bool:
        with socket.socket(fileno=os.dup(self.held[-1])) as listening:
            try:
                listening.accept()[0].close()
            except BlockingIOError:
                return False
        return True

    # The page cache

    def _evict(self, path: str) -> None:
        descriptor = self.open(path)
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def _look_mincore(self, path: str) -> bool:
        descriptor = self.open(path)
        LIBC.mmap.restype = ctypes.c_void_p
        LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
        address = LIBC.mmap(None, PAGE, 1, 1, descriptor, 0)
        pages = ctypes.create_string_buffer(1)
        try:
            checked(LIBC.syscall(MINCORE, ctypes.c_void_p(address), ctypes.c_size_t(PAGE), pages))
        finally:
            LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(PAGE))
        return bool(pages.raw[0] & 1)

    def _look_nowait(self, path: str) -> bool:
        try:
            os.preadv(self.open(path), [bytearray(1)], 0, RWF_NOWAIT)
        except BlockingIOError:
            return False
        return True

    def _look_cachestat(self, path: str) -> bool:
        cached = (ctypes.c_uint64 * 5)()
        checked(LIBC.syscall(CACHESTAT, self.open(path), (ctypes.c_uint64 * 2)(0, PAGE), cached, 0))
        return cached[0] > 0

    # The protocol

    def prepare(self, channel: str, path: str) -> bool:
        PREPARING.get(channel, Channel._nothing)(self, path)
        return False

    def send(self, channel: str, path: str) -> bool:
        SENDING.get(channel, Channel._use)(self, path)
        return False

    def look(self, channel: str, path: str) -> bool:
        return LOOKING[channel](self, path)

    def _nothing(self, path: str) -> None:
        """Some channels need no preparation."""


Step = Callable[[Channel, str], None]
PREPARING: dict[str, Step] = {
    "inotify": Channel.prepare_inotify,
    "changes": Channel.prepare_changes,
    "fanotify": Channel.prepare_fanotify,
    "dnotify": Channel.prepare_dnotify,
    "lease": Channel.prepare_lease,
    "atime": Channel.prepare_atime,
    "fifo": Channel.prepare_fifo,
    "socket": Channel.prepare_socket,
    "mincore": Channel._evict,
    "nowait": Channel._evict,
    "cachestat": Channel._evict,
}
SENDING: dict[str, Step] = {
    "flock": Channel.send_flock,
    "posix": Channel.send_posix,
    "ofd": Channel.send_ofd,
    "listed": Channel.send_listed,
    "fifo": Channel.send_fifo,
    "socket": Channel.send_socket,
}
"""The other channels are sent on by a read."""
LOOKING: dict[str, Callable[[Channel, str], bool]] = {
    "inotify": Channel._look_watch,
    "changes": Channel._look_watch,
    "fanotify": Channel._look_watch,
    "dnotify": Channel._look_signal,
    "lease": Channel._look_signal,
    "atime": Channel._look_atime,
    "flock": Channel._look_flock,
    "posix": lambda end, path: end._look_locked(path, fcntl.F_GETLK),
    "ofd": lambda end, path: end._look_locked(path, F_OFD_GETLK),
    "listed": Channel._look_listed,
    "fifo": Channel._look_fifo,
    "socket": Channel._look_socket,
    "mincore": Channel._look_mincore,
    "nowait": Channel._look_nowait,
    "cachestat": Channel._look_cachestat,
}


def step(end: Channel, name: str, channel: str, path: str) -> str:
    """One step: the bit that was seen, or the error of the system."""
    try:
        if name == "rest":
            end.rest()
            return "0"
        return str(int({"prepare": end.prepare, "send": end.send, "look": end.look}[name](channel, path)))
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))


TOOL = {
    "name": "step",
    "inputSchema": {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("name", "channel", "path")},
        "required": ["name", "channel", "path"],
    },
}


def answered(end: Channel, message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        about = {"name": "channels", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if message["method"] == "tools/list":
        return {"tools": [TOOL]}
    if message["method"] == "tools/call":
        text = step(end, **message["params"]["arguments"])
        return {"content": [{"type": "text", "text": text}], "structuredContent": {"seen": text}}
    return {}


def serve() -> None:
    end = Channel()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        known = message["method"] in {"initialize", "tools/list", "tools/call", "ping"}
        outcome = {"result": answered(end, message)} if known else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)


if __name__ == "__main__":
    serve()
