"""Receivers of the ways out of a sandbox, as a program beside every sandbox. It prints all bytes that arrive.

    python -m support.receivers near|far SETTINGS      settings as JSON; they name the folders and the interface

`near` is the machine itself, `far` another host. Each byte on standard input has all states looked at; its end ends the program."""

import json
import os
import re
import selectors
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

KINDS = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "seqpacket": socket.SOCK_SEQPACKET}
MPTCP, UDP_LITE, EXPERIMENTAL, USERSOCK, UEVENT = 262, 136, 253, 2, 15
GROUP, GROUP_SIX = "239.9.9.9", "ff02::9999"
ETHERNET_EXPERIMENTAL, ETHERNET_SIX, NEIGHBOR_SOLICITATION = 0x88B5, 0x86DD, 135
PROXY_PORT = 3128

_printing = threading.Lock()


def tell(by: str, data: bytes) -> None:
    with _printing:
        print(json.dumps({"by": by, "data": data.hex()}), flush=True)


class Receivers:
    """Sockets that are read whenever something arrives."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.to: dict[str, Any] = {}
        self.states: list[Callable[[], None]] = []

    def on(self, end: Any, act: Callable[[], None]) -> None:
        self.selector.register(end, selectors.EVENT_READ, act)

    def datagrams(self, by: str, end: socket.socket, wanted: Callable[[bytes], bool] = bool) -> None:
        end.setblocking(False)

        def read() -> None:
            data, source = end.recvfrom(65536)
            if wanted(data):
                tell(by, data + repr(source).encode())

        self.on(end, read)

    def streams(self, by: str, listening: socket.socket) -> None:
        listening.setblocking(False)
        self.on(listening, lambda: self._connection(by, listening.accept()[0]))

    def _connection(self, by: str, end: socket.socket) -> None:
        end.setblocking(False)

        def read() -> None:
            data, passed, _, _ = (
                end.recvmsg(65536, 256) if end.family == socket.AF_UNIX else (end.recv(65536), [], 0, 0)
            )
            tell(by, data)
            for _, _, handles in passed:
                (handle,) = struct.unpack("i", handles)
                tell(by, os.pread(handle, 100, 0))
                os.close(handle)
            if not data:
                self.selector.unregister(end)
                end.close()

        self.on(end, read)

    def turn(self, timeout: float) -> bool:
        """Reads once from each ready socket, and returns true if there was one. An error of one receiver ends no other."""
        ready = self.selector.select(timeout)
        for key, _ in ready:
            with suppress(OSError):
                key.data()
        return bool(ready)

    def settle(self) -> None:
        """Reads all that has arrived, looks at all states, and reports that."""
        for state in self.states:
            try:
                state()
            except (OSError, ValueError) as error:
                print(f"{state}: {error!r}", file=sys.stderr)
        while self.turn(0):
            pass
        with _printing:
            print(json.dumps({"settled": True}), flush=True)


def bound(family: int, kind: int, address: Any, protocol: int = 0) -> socket.socket:
    end = socket.socket(family, kind, protocol)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    end.bind(address)
    if kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        if protocol == 0 and family != socket.AF_UNIX:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        end.listen(64)
    return end


def internet(these: Receivers, settings: dict[str, Any]) -> None:
    """Receivers that both hosts have, at the same ports."""
    for family, anywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        these.streams("tcp", bound(family, socket.SOCK_STREAM, (anywhere, settings["tcp"])))
        udp = bound(family, socket.SOCK_DGRAM, (anywhere, settings["udp"]))
        join(udp, settings["interface"])
        these.datagrams("udp", udp)
        echo = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
        these.datagrams("icmp", socket.socket(family, socket.SOCK_RAW, echo))
        these.datagrams("raw", socket.socket(family, socket.SOCK_RAW, EXPERIMENTAL))
    with suppress(OSError):
        mptcp = bound(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", settings["mptcp"]), MPTCP)
        these.streams("mptcp", mptcp)
    with suppress(OSError):
        these.datagrams(
            "udp-lite", bound(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", settings["udp_lite"]), UDP_LITE)
        )
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind((settings["interface"], 3))
    these.datagrams("wire", wire, _is_experiment)


def _is_experiment(frame: bytes) -> bool:
    """Frames that no other receiver reads: all but these belong to the tests' own traffic."""
    kind = int.from_bytes(frame[12:14])
    is_neighbor = kind == ETHERNET_SIX and frame[20:21] == b"\x3a" and frame[54:55] == bytes([NEIGHBOR_SOLICITATION])
    return kind == ETHERNET_EXPERIMENTAL or is_neighbor


def join(end: socket.socket, interface: str) -> None:
    number = struct.pack("@I", socket.if_nametoindex(interface))
    if end.family == socket.AF_INET:
        asked = socket.inet_aton(GROUP) + socket.inet_aton("0.0.0.0") + number
        end.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, asked)
    else:
        asked = socket.inet_pton(socket.AF_INET6, GROUP_SIX) + number
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, asked)


def local(these: Receivers, settings: dict[str, Any]) -> None:
    """Receivers of the machine itself that are sockets, FIFOs or descriptors."""
    abstract = f"ways-out-{os.getpid()}"
    these.to |= {"pid": os.getpid(), "abstract": abstract}
    for name, kind in KINDS.items():
        places = [f"{settings[place]}/s.{name}" for place in ("args", "project", "ro", "rw")]
        for path in (*places, f"\0{abstract}.{name}"):
            end = bound(socket.AF_UNIX, kind, path)
            if not path.startswith("\0"):
                Path(path).chmod(0o666)
            (these.datagrams if name == "datagram" else these.streams)("unix", end)
    for protocol, group in ((USERSOCK, 1), (UEVENT, 2)):
        end = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        end.bind((0, group))
        these.datagrams("netlink", end)
    these.datagrams("proxy", bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", PROXY_PORT)))
    for place in ("args", "project", "ro", "rw"):
        fifo(these, f"{settings[place]}/fifo")
    fifo(these, f"{settings['outside']}/inherited")
    reading, writing = os.pipe()
    these.on(reading, lambda: tell("pipe", os.read(reading, 4096)))
    these.to["pipe"] = writing
    master, slave = os.openpty()
    these.to["terminal"] = os.ttyname(slave)
    Path(these.to["terminal"]).chmod(0o666)
    these.on(master, lambda: tell("terminal", os.read(master, 4096)))
    these.on(slave, lambda: tell("terminal", os.read(slave, 4096)))


def fifo(these: Receivers, path: str) -> None:
    os.mkfifo(path)
    Path(path).chmod(0o666)
    reading = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    these.on(reading, lambda: tell("fifo", os.read(reading, 4096)))


# A proxy without rules


NAMED = re.compile(rb"(\[[0-9a-f:.]+\]|(?:[a-z0-9-]+\.)+test\.?|\d+(?:\.\d+){3}|0x[0-9a-f]+|\d{10})(?::(\d+))?")
"""A host name or an address, with its port."""


def open_proxy() -> None:
    """Forward proxy without rules, for the defence that is off: it passes each request to every host named in it."""
    with socket.create_server(("127.0.0.1", PROXY_PORT)) as listening:
        while True:
            end, _ = listening.accept()
            threading.Thread(target=passed_on, args=(end,), daemon=True).start()


def passed_on(end: socket.socket) -> None:
    with end, suppress(OSError):
        end.settimeout(2)
        data = end.recv(65536)
        found = {(host.strip(b"[]").decode(), int(port or 80)) for host, port in NAMED.findall(data)}
        others = {each for each in found if each[0] != "allowed.test"}
        if data.startswith(b"CONNECT"):
            found = others or found
            end.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            data = end.recv(65536)
        for address in found:
            with suppress(OSError), socket.create_connection(address, 2) as host:
                host.sendall(data)
                host.settimeout(0.2)
                end.sendall(host.recv(4096))


def main(role: str, settings: dict[str, Any]) -> None:
    these = Receivers()
    internet(these, settings)
    if role == "near":
        from support import receivers_of_states

        local(these, settings)
        receivers_of_states.prepare(these, settings)
        threading.Thread(target=open_proxy, daemon=True).start()
    else:
        these.streams("dns", bound(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 53)))
    over = [False]

    def command() -> None:
        if os.read(0, 1):
            these.settle()
        else:
            over[0] = True

    these.on(0, command)
    print(json.dumps({"to": these.to}), flush=True)
    while not over[0]:
        these.turn(10)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
