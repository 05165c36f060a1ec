"""Isolation probes from inside a sandbox: user and capabilities, seccomp, writable kernel settings, interfaces and
routes; after the second filter, Unix sockets, FIFOs and connections. They send nothing; standard library only."""

import contextlib
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterator

SOMEWHERE = (
    ("192.0.2.1", socket.AF_INET),
    ("169.254.169.254", socket.AF_INET),
    ("10.0.0.1", socket.AF_INET),
    ("172.17.0.1", socket.AF_INET),
    ("192.168.0.1", socket.AF_INET),
    ("2001:db8::1", socket.AF_INET6),
    ("fe80::1", socket.AF_INET6),
)
"""Addresses that some route would lead to, were there any. To connect a datagram socket asks for the route alone."""

NO_ROUTE = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EINVAL, errno.EPERM}
)

SIOCGIFFLAGS = 0x8913
IFF_UP = 1

SETTINGS = ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/sys/fs/cgroup")
"""Who can write to one of these is not confined."""


def leaks(*, isolated: bool) -> Iterator[str]:
    """Why this box is not tight, one reason after the other."""
    status = _status()
    yield from _rights(status)
    yield from (f"{path} can be written to" for path in SETTINGS if os.access(path, os.W_OK))
    if isolated:
        yield from _interfaces()
        yield from _routes()


def _status() -> "dict[str, str]":
    with open("/proc/self/status") as file:  # noqa: PTH123
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def _rights(status: "dict[str, str]") -> Iterator[str]:
    if 0 in {*os.getresuid(), *os.getresgid()}:
        yield "the server would be root in it"
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(status.get(name, "1"), 16):
            yield f"the server would have capabilities: {name} is {status.get(name)}"
    if status.get("NoNewPrivs") != "1":
        yield "programs in it can gain rights: no_new_privs is off"
    if status.get("Seccomp") != "2":
        yield "every system call is open: seccomp is off"


def _interfaces() -> Iterator[str]:
    with open("/proc/net/dev") as file:  # noqa: PTH123
        names = [line.partition(":")[0].strip() for line in file if ":" in line]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        yield from (f"there is a network: {name} is up" for name in names if name != "lo" and _is_up(asking, name))


def _is_up(asking: socket.socket, name: str) -> bool:
    answer = fcntl.ioctl(asking, SIOCGIFFLAGS, struct.pack("16sh22x", name.encode(), 0))
    return bool(struct.unpack("16sh22x", answer)[1] & IFF_UP)


def _routes() -> Iterator[str]:
    for address, family in SOMEWHERE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as tried:
                tried.connect((address, 9))
        except OSError as error:
            if error.errno not in NO_ROUTE:
                yield f"whether {address} can be reached is not known: {error}"
        else:
            yield f"there is a route to {address}"


# After the second filter


def ways_out(lane: str, decoys: str) -> Iterator[str]:
    """Reasons why a private lane is not closed, found by trying to leave it. `decoys` is a folder of the host with a
    FIFO and a socket, which the runtime holds open."""
    yield from _unix_sockets()
    if decoys:
        yield from _socket_of_the_host(f"{decoys}/socket")
        yield from _fifo_of_the_host(f"{decoys}/fifo")
    if lane == "sealed":
        yield from _connections()


def _unix_sockets() -> Iterator[str]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        with contextlib.suppress(OSError):
            socket.socket(socket.AF_UNIX, kind).close()
            yield f"a Unix socket of type {kind.name} can be made"
        if kind is not socket.SOCK_STREAM:
            with contextlib.suppress(OSError):
                for end in socket.socketpair(socket.AF_UNIX, kind):
                    end.close()
                yield f"a pair of Unix sockets of type {kind.name} can be made: they can send to a path"


def _socket_of_the_host(path: str) -> Iterator[str]:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as tried:
        tried.connect(path)
        yield "a Unix socket of the host can be connected to"


def _fifo_of_the_host(path: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        # Without a reader outside, opening a FIFO fails.
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        yield "a FIFO of the host can be written to"
    with contextlib.suppress(FileNotFoundError, PermissionError):
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            shared = bool(os.read(reader, 1))
        except BlockingIOError:
            shared = True  # a writer outside holds it open
        finally:
            os.close(reader)
        if shared:
            yield "a FIFO of the host can be read"


def _connections() -> Iterator[str]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as tried:
            try:
                tried.connect(("127.0.0.1", 9))
            except OSError as error:
                if error.errno == errno.ENETUNREACH:
                    continue
                yield f"connections are not refused: {error}"
            else:
                yield "connections are not refused"
