"""Receivers that look at a state: locks, notifications, signals, shared memory, settings and logs of the kernel."""

import atexit
import ctypes
import fcntl
import mmap
import os
import re
import resource
import signal
import socket
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from hostile.ways_out.files import LOCK
from hostile.ways_out.kernel import TimeState
from hostile.ways_out.memory import USER_KEYRING
from hostile.ways_out.processes import FIRST
from hostile.ways_out.way import checked, libc, syscall
from support.receivers import tell

OWN = f"ways-out-{os.getpid()}"
"""Prefix of all names that this process makes on the machine."""

SIGNALS = range(FIRST, FIRST + 16)
OFD_GET_LOCK = 36
OPENED, CLOSED = 0x20, 0x18
NOTIFYING = 320
"""The first of 16 descriptors of folders. The last four bits of each are its digit."""
FULL = 65536
"""Bytes that a FIFO holds."""
ONES = [f"{position:02}" for position in range(32)]
DIGITS = "0123456789abcdef"


class Receivers(Protocol):
    """Registry of states to read."""

    to: dict[str, Any]
    states: list[Callable[[], None]]

    def on(self, end: Any, act: Callable[[], None]) -> None: ...


def number(by: str, value: int) -> None:
    tell(by, b"%08x" % (value & 0xFFFFFFFF))


def prepare(these: Receivers, settings: dict[str, Any]) -> None:
    os.chdir(settings["outside"])
    error = os.open("stderr", os.O_RDWR | os.O_CREAT)
    for make in (_files, _locks, _notifications, _pipes, _processes, _signals, _ipc, _kernel, _listeners):
        make(these, settings)
    os.dup2(error, 2)
    these.states.append(lambda: tell("stderr", Path("stderr").read_bytes()))


# Files


def content(these: Receivers, *paths: str) -> None:
    def look() -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                tell("file", Path(path).read_bytes())

    these.states.append(look)


def _files(these: Receivers, settings: dict[str, Any]) -> None:
    places = [Path(settings[place]) for place in ("args", "project", "ro", "rw")]
    content(these, *(f"{settings['outside']}/{name}" for name in ("proc_root", "proc_cwd")))
    file = Path(settings["args"], "file")
    modes = [_made(f"{settings['args']}/modes/{place}") for place in range(8)]
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
    _made(str(file))
    handled = _made(f"{settings['args']}/handled")
    checked(libc.name_to_handle_at(-100, handled.encode(), handle, ctypes.byref(ctypes.c_int()), 0))
    size = struct.unpack_from("=I", handle.raw)[0]
    these.to["handle"] = handle.raw[: 8 + size].hex()

    def look() -> None:
        tell("file", Path(handled).read_bytes())
        for written in [path for place in places for path in place.glob("written-*")]:
            tell("file", written.read_bytes())
            written.unlink()
        number("times", int(file.stat().st_mtime))
        tell("modes", "".join(f"{Path(each).stat().st_mode >> 4 & 15:x}" for each in modes).encode())
        for dump in Path(settings["rw"]).glob("core*"):
            tell("core", b" ".join(re.findall(rb"x[0-9a-f]{8}", dump.read_bytes())))
            dump.unlink()
        with suppress(OSError):
            tell("attribute", os.getxattr(file, "user.data"))

    these.states.append(look)


def _made(path: str, text: bytes = b"-") -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).parent.chmod(0o777)
    Path(path).write_bytes(text)
    Path(path).chmod(0o666)
    return path


def _locks(these: Receivers, settings: dict[str, Any]) -> None:
    folder = settings["args"]
    by_offset = {"posix_lock": fcntl.F_GETLK, "ofd_lock": OFD_GET_LOCK}
    offsets = [(os.open(_made(f"{folder}/{name}"), os.O_RDWR), command) for name, command in by_offset.items()]
    flocks = [os.open(_made(f"{folder}/flock/{name}"), os.O_RDWR) for name in ONES]
    leases = [_made(f"{folder}/lease/{name}") for name in ONES]
    programs = [_made(f"{folder}/programs/{name}", Path("/bin/sleep").read_bytes()) for name in ONES]
    for program in programs:
        Path(program).chmod(0o777)

    def look() -> None:
        for handle, command in offsets:
            asked = struct.pack(LOCK, fcntl.F_WRLCK, 0, 0, 0, 0)
            kind, _, start, _, _ = struct.unpack(LOCK, fcntl.fcntl(handle, command, asked))
            if kind != fcntl.F_UNLCK:
                number("lock", start)
        number("flock", sum(1 << place for place, handle in enumerate(flocks) if not _free(handle)))
        for by, paths in (("lease", leases), ("programs", programs)):
            number(by, sum(1 << place for place, path in enumerate(paths) if not _writable(path)))

    these.states.append(look)


def _free(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(handle, fcntl.LOCK_UN)
    return True


def _writable(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _notifications(these: Receivers, settings: dict[str, Any]) -> None:
    args = settings["args"]
    files = _watching({digit: _made(f"{args}/inotify/{digit}") for digit in DIGITS})
    folders = _watching({digit: str(Path(_made(f"{args}/folders/{digit}/file")).parent) for digit in DIGITS})
    read = [_made(f"{settings[place]}/read/{name}") for place in ("args", "rw") for name in ONES]
    pages = Path(_made(f"{args}/pages", os.urandom(32 * 16 * mmap.PAGESIZE)))
    for path in read:
        os.utime(path, (1, 2))
    _drop(pages)

    def look() -> None:
        tell("opened", files())
        tell("listed", folders())
        changed = [Path(path).stat().st_atime != 1 for path in read]
        for half in (changed[:32], changed[32:]):
            number("access", sum(1 << place for place, each in enumerate(half) if each))
        for path in read:
            os.utime(path, (1, 2))
        number("pages", _cached(pages))
        _drop(pages)

    these.states.append(look)
    for place, digit in enumerate(DIGITS):
        folder = Path(_made(f"{args}/dnotify/{digit}/file")).parent
        handle = os.open(folder, os.O_RDONLY)
        os.dup2(handle, NOTIFYING + place)
        fcntl.fcntl(NOTIFYING + place, 10, 54)
        fcntl.fcntl(NOTIFYING + place, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT)


def _watching(paths: dict[str, str]) -> Callable[[], bytes]:
    """Watches files or folders in one queue, and returns the digits of those that were opened since the last look.

    Both opening and closing are watched: the kernel merges equal events that follow each other."""
    queue = checked(libc.inotify_init1(os.O_NONBLOCK))
    digits = {
        checked(libc.inotify_add_watch(queue, path.encode(), OPENED | CLOSED)): digit for digit, path in paths.items()
    }

    def opened() -> bytes:
        with suppress(BlockingIOError):
            events, found = os.read(queue, 1 << 20), ""
            while events:
                watch, mask, _, size = struct.unpack_from("=iIII", events)
                found += digits[watch] if mask & OPENED else ""
                events = events[16 + size :]
            return found.encode()
        return b""

    return opened


def _drop(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _cached(path: Path) -> int:
    """Bits of the pages that are in memory, read without loading any of them."""
    libc.mmap.restype = ctypes.c_void_p
    with path.open("r+b") as file:
        size = 32 * 16 * mmap.PAGESIZE
        address = libc.mmap(
            None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0)
        )
        there = (ctypes.c_ubyte * (32 * 16))()
        checked(libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), there))
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return sum(1 << place for place in range(32) if there[place * 16] & 1)


def _pipes(these: Receivers, settings: dict[str, Any]) -> None:
    readers = [_fifo(f"{settings['args']}/fifos/{name}") for name in ONES]
    drained = [_fifo(f"{settings['args']}/drained/{name}") for name in ("high", "low")]
    handles = [os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in drained]
    for handle in handles:
        os.write(handle, bytes(FULL))

    def look() -> None:
        number("readers", sum(1 << place for place, path in enumerate(readers) if _writable(path)))
        gone = [FULL - len(os.read(handle, FULL)) for handle in handles]
        number("drained", gone[0] << 16 | gone[1])
        for handle in handles:
            os.write(handle, bytes(FULL))
        made = Path(settings["rw"], "made.fifo")
        if made.exists():
            tell("fifo", os.read(os.open(made, os.O_RDONLY | os.O_NONBLOCK), 100))
            made.unlink()

    these.states.append(look)


def _fifo(path: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    Path(path).chmod(0o666)
    return path


# Processes


def _processes(these: Receivers, settings: dict[str, Any]) -> None:
    buffers = [ctypes.create_string_buffer(16) for _ in range(3)]
    these.to["buffers"] = [ctypes.addressof(each) for each in buffers]
    slack = Path("/proc/self/timerslack_ns")

    def look() -> None:
        for each in buffers:
            tell("memory", each.raw)
        number("slack", int(slack.read_text()))
        number("limit", resource.getrlimit(resource.RLIMIT_RTTIME)[0])
        for name in Path("/proc").glob("[0-9]*/comm"):
            with suppress(OSError):
                text = name.read_bytes()
                if re.match(rb"x[0-9a-f]{8}\n", text):
                    tell("name", text)

    these.states.append(look)


def _signals(these: Receivers, settings: dict[str, Any]) -> None:
    numbers = [*SIGNALS]
    signal.pthread_sigmask(signal.SIG_BLOCK, [*numbers, signal.SIGIO])

    def look() -> None:
        counts = dict.fromkeys(numbers, 0)
        descriptors: dict[int, list[int]] = {}
        while (came := signal.sigtimedwait(numbers, 0)) is not None:
            counts[came.si_signo] += 1
            number("signal", came.si_status)
            descriptors.setdefault(came.si_signo, []).append(came.si_status)
        tell("signals", "".join(f"{max(counts[each] - 1, 0):x}"[-1] for each in numbers[:8]).encode())
        for found in descriptors.values():
            tell("descriptors", "".join(f"{each & 15:x}" for each in found).encode())

    these.states.append(look)


# Between processes


def _ipc(these: Receivers, settings: dict[str, Any]) -> None:
    key, name = 0x5A0000 + os.getpid(), OWN
    shared = Path("/dev/shm", name)
    these.to |= {"key": key, "queue": f"/{name}", "key_name": name, "shared": str(shared)}
    realtime = libc if hasattr(libc, "mq_open") else ctypes.CDLL("librt.so.1", use_errno=True)
    os.umask(0)
    queue = checked(realtime.mq_open(f"/{name}".encode(), os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o666, None))
    messages = checked(libc.msgget(key, 0o1666))
    segment = checked(libc.shmget(key, 4096, 0o1666))
    semaphores = checked(libc.semget(key, 8, 0o1666))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(segment, None, 0)
    shared.touch(0o666)

    def clean() -> None:
        realtime.mq_unlink(f"/{name}".encode())
        libc.msgctl(messages, 0, None)
        libc.shmctl(segment, 0, None)
        libc.semctl(semaphores, 0, 0, 0)
        shared.unlink(missing_ok=True)

    atexit.register(clean)

    def look() -> None:
        buffer = ctypes.create_string_buffer(8192)
        if realtime.mq_receive(queue, buffer, 8192, None) >= 0:
            tell("queue", buffer.raw[:8])
        if libc.msgrcv(messages, buffer, 100, 0, 0o4000) >= 0:
            tell("queue", buffer.raw[8:16])
        tell("shared", ctypes.string_at(address, 8))
        values = (ctypes.c_ushort * 8)()
        checked(libc.semctl(semaphores, 0, 13, values))
        tell("semaphores", "".join(f"{value & 15:x}" for value in values).encode())
        tell("shared", shared.read_bytes())
        with suppress(OSError):
            syscall("keyctl", 11, syscall("keyctl", 10, USER_KEYRING, b"user", name.encode(), 0), buffer, 100)
            tell("key", buffer.raw[:8])
        for text in _maps():
            tell("map", text)

    these.states.append(look)


def _maps() -> list[bytes]:
    """The names of all maps of the kernel."""
    names, last = list[bytes](), 0
    while True:
        asked = (ctypes.c_char * 16).from_buffer(bytearray(struct.pack("=IIII", last, 0, 0, 0)))
        try:
            syscall("bpf", 12, asked, 16)
            last = struct.unpack_from("=I", asked.raw, 4)[0]
            handle = syscall(
                "bpf", 14, (ctypes.c_char * 16).from_buffer(bytearray(struct.pack("=IIII", last, 0, 0, 0))), 16
            )
        except OSError:
            return names
        info = ctypes.create_string_buffer(88)
        attributes = bytearray(struct.pack("=IIQ", handle, 88, ctypes.addressof(info)))
        with suppress(OSError):
            syscall("bpf", 15, (ctypes.c_char * 16).from_buffer(attributes), 16)
            names.append(info.raw[24:40])
        os.close(handle)


# The kernel


def _kernel(these: Receivers, settings: dict[str, Any]) -> None:
    cgroups = next(Path(path) for path in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if Path(path).is_dir())
    these.to["cgroups"] = f"{cgroups}/{OWN}"
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    before = TimeState()
    libc.adjtimex(ctypes.byref(before))
    estimate = before.estimate
    atomic = struct.unpack_from("=i", bytes(before), 160)[0]

    def restore() -> None:
        _set_clock(estimate, atomic)
        for made in cgroups.glob(f"{OWN}-*"):
            with suppress(OSError):
                made.rmdir()

    atexit.register(restore)

    def look() -> None:
        while line := _log_line(log):
            tell("log", line)
        ports = Path("/proc/sys/net/ipv4/ip_local_reserved_ports").read_text().strip()
        tell("setting", "".join(f"{int(port) & 0xFF:02x}" for port in _offsets(ports)).encode())
        now = TimeState()
        libc.adjtimex(ctypes.byref(now))
        number("clock", now.estimate << 16 | struct.unpack_from("=i", bytes(now), 160)[0] & 0xFFFF)
        _set_clock(estimate, atomic)
        tell("groups", " ".join(each.name for each in cgroups.glob(f"{OWN}-*")).encode())
        shown = subprocess.run(["ip", "-details", "address"], capture_output=True, check=True).stdout
        tell("interfaces", shown + Path("/proc/net/if_inet6").read_bytes())

    these.states.append(look)


def _set_clock(estimate: int, atomic: int) -> None:
    """Sets two numbers that describe the clock, and not the time itself."""
    libc.adjtimex(ctypes.byref(TimeState(modes=0x0008, estimate=estimate)))
    libc.adjtimex(ctypes.byref(TimeState(modes=0x0080, constant=atomic)))


def _offsets(ports: str) -> list[int]:
    found = [int(port) for port in ports.split(",") if port.isdigit()]
    return [port - 20000 - 256 * place for place, port in enumerate(found)]


def _log_line(log: int) -> bytes:
    try:
        return os.read(log, 8192)
    except (BlockingIOError, BrokenPipeError):
        return b""


def _listeners(these: Receivers, settings: dict[str, Any]) -> None:
    """Client of the sockets on which a sandbox may listen."""

    def look() -> None:
        targets: list[tuple[int, Any]] = [(socket.AF_UNIX, f"{settings['rw']}/back.sock")]
        targets += [(socket.AF_INET, (host, settings["listened"])) for host in ("127.0.0.1", settings["own"])]
        for family, address in targets:
            with suppress(OSError), socket.socket(family) as end:
                end.settimeout(0.5)
                end.connect(address)
                tell("listener", end.recv(100))
        Path(settings["rw"], "back.sock").unlink(missing_ok=True)

    these.states.append(look)
