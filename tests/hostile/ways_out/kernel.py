"""Ways out by settings and logs of the kernel, and by io_uring."""

import ctypes
import mmap
import os
import socket
import struct
from pathlib import Path
from typing import Any

from hostile.ways_out.way import To, checked, libc, syscall, way


@way("kernel", "Writes to the log of the kernel.", needs="/dev/kmsg")
def kernel_log(to: To, token: str) -> None:
    Path("/dev/kmsg").write_text(f"ways out {token}\n")


@way("kernel", "Writes a network setting below `/proc/sys`.")
def kernel_setting(to: To, token: str) -> None:
    ports = [str(20000 + 256 * place + int(token[place : place + 2], 16)) for place in range(0, 8, 2)]
    Path("/proc/sys/net/ipv4/ip_local_reserved_ports").write_text(",".join(ports))


@way("kernel", "Makes a control group whose name contains the data.")
def control_group(to: To, token: str) -> None:
    Path(f"{to['cgroups']}-{token}").mkdir()


class TimeState(ctypes.Structure):
    """`struct timex` of the kernel."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("frequency", ctypes.c_long),
        ("largest", ctypes.c_long),
        ("estimate", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("rest", ctypes.c_char * 160),
    )


@way("clock", "Sets the estimated error and the offset from atomic time of the system clock.")
def clock_state(to: To, token: str) -> None:
    checked(libc.adjtimex(ctypes.byref(TimeState(modes=0x0008, estimate=int(token[:4], 16)))))
    checked(libc.adjtimex(ctypes.byref(TimeState(modes=0x0080, constant=int(token[4:], 16)))))


# io_uring: a system call table of its own, which a filter of system calls does not see


class Ring:
    """An io_uring with one operation at a time."""

    def __init__(self) -> None:
        parameters = bytearray(120)
        buffer = (ctypes.c_char * 120).from_buffer(parameters)
        self._handle = syscall("io_uring_setup", 4, buffer)
        words = struct.unpack("30I", parameters)
        self._submit, self._complete = words[10:20], words[20:30]
        self._ring = mmap.mmap(self._handle, 4096, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, offset=0)
        self._entries = mmap.mmap(self._handle, 4096, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, offset=0x10000000)
        self._keep: list[Any] = []

    def do(self, operation: int, handle: int, address: Any, length: int = 0, offset: int = 0, flags: int = 0) -> int:
        """Carries out one operation. Raises `OSError` with the error of the kernel."""
        self._keep.append(address)
        pointer = address if isinstance(address, int) else ctypes.addressof(address)
        entry = struct.pack("=BBHiQQIIQ", operation, 0, 0, handle, offset, pointer, length, flags, 0)
        self._entries[0:64] = entry + b"\0" * 24
        tail = self._number(self._submit[1])
        mask = self._number(self._submit[2])
        self._put(self._submit[6] + 4 * (tail & mask), 0)
        self._put(self._submit[1], tail + 1)
        syscall("io_uring_enter", self._handle, 1, 1, 1, None, 0)
        head = self._number(self._complete[0])
        place = self._complete[5] + 16 * (head & self._number(self._complete[2]))
        result = struct.unpack_from("=i", self._ring, place + 8)[0]
        self._put(self._complete[0], head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result

    def _number(self, place: int) -> int:
        return struct.unpack_from("=I", self._ring, place)[0]

    def _put(self, place: int, number: int) -> None:
        struct.pack_into("=I", self._ring, place, number)


SOCKET, CONNECT, SEND, OPEN, WRITE, CWD = 45, 16, 26, 18, 23, -100


def by_ring(family: int, address: bytes, token: str) -> None:
    ring = Ring()
    end = ring.do(SOCKET, family, 0, 0, socket.SOCK_STREAM)
    ring.do(CONNECT, end, ctypes.create_string_buffer(address, len(address)), 0, len(address))
    ring.do(SEND, end, ctypes.create_string_buffer(token.encode(), 8), 8)


@way("io_uring", "Makes a TCP socket, connects and sends by io_uring.")
def ring_tcp(to: To, token: str) -> None:
    port, host = struct.pack("!H", to["tcp"]), socket.inet_aton("127.0.0.1")
    by_ring(socket.AF_INET, struct.pack("=H", socket.AF_INET) + port + host + b"\0" * 8, token)


@way("io_uring", "Makes a Unix socket, connects and sends by io_uring.")
def ring_unix(to: To, token: str) -> None:
    by_ring(socket.AF_UNIX, struct.pack("=H", socket.AF_UNIX) + f"{to['args']}/s.stream\0".encode(), token)


@way("io_uring", "Opens a FIFO and writes to it by io_uring.")
def ring_fifo(to: To, token: str) -> None:
    ring = Ring()
    path = ctypes.create_string_buffer(f"{to['args']}/fifo".encode())
    handle = ring.do(OPEN, CWD, path, 0, 0, os.O_WRONLY | os.O_NONBLOCK)
    ring.do(WRITE, handle, ctypes.create_string_buffer(token.encode(), 8), 8, 0)
