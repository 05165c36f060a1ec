"""Ways out by netlink, by packets of the link layer, and by devices that make an interface."""

import fcntl
import os
import socket
import struct

from hostile.ways_out.way import To, way

EXPERIMENTAL = 0x88B5
"""Ethernet type for experiments."""

NEW_LINK, NEW_ADDRESS, REQUEST, CREATE = 16, 20, 1, 0x400
IF_ALIAS, LOCAL = 20, 2
USERSOCK, UEVENT = 2, 15
TUN_SET, TUN, NO_PACKET_INFO = 0x400454CA, 1, 0x1000


@way("packet", "Sends a frame with an Ethernet header of its own.")
def packet_frame(to: To, token: str) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as end:
        end.bind((to["interface"], 0))
        end.send(b"\xff" * 6 + b"\2\0\0\0\0\1" + struct.pack("!H", EXPERIMENTAL) + token.encode())


@way("packet", "Sends a packet of the link layer, whose header the kernel makes.")
def packet_datagram(to: To, token: str) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as end:
        end.sendto(token.encode(), (to["interface"], EXPERIMENTAL, 0, 0, b"\xff" * 6))


def netlink(protocol: int, data: bytes, groups: int = 0) -> bytes:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as end:
        end.settimeout(1)
        end.bind((0, 0))
        end.sendto(data, (0, groups))
        return b"" if groups else end.recv(4096)


@way("netlink", "Sends a message to the processes in a multicast group of netlink.")
def netlink_user(to: To, token: str) -> None:
    netlink(USERSOCK, struct.pack("=IHHII", 16 + len(token), 16, 0, 1, 0) + token.encode(), 1)


@way("netlink", "Sends an event as the kernel does when a device appears.")
def netlink_uevent(to: To, token: str) -> None:
    netlink(UEVENT, f"add@/{token}\0".encode(), 2)


def routing(kind: int, body: bytes, attribute: int, value: bytes, flags: int = REQUEST) -> None:
    """Changes something of the network by rtnetlink. Raises `OSError` with the error of the kernel."""
    padded = value + b"\0" * (-len(value) % 4)
    data = body + struct.pack("=HH", 4 + len(value), attribute) + padded
    answer = netlink(socket.NETLINK_ROUTE, struct.pack("=IHHII", 16 + len(data), kind, flags | 4, 1, 0) + data)
    error = -struct.unpack_from("=i", answer, 16)[0]
    if error:
        raise OSError(error, os.strerror(error))


@way("netlink", "Writes the data as the alias of the loopback interface.")
def netlink_alias(to: To, token: str) -> None:
    routing(NEW_LINK, struct.pack("=BxHiII", 0, 0, 1, 0, 0), IF_ALIAS, token.encode() + b"\0")


@way("netlink", "Gives the loopback interface an IPv6 address that contains the data.")
def netlink_address(to: To, token: str) -> None:
    address = socket.inet_pton(socket.AF_INET6, f"fd00::8:{token[:4]}:{token[4:]}")
    routing(NEW_ADDRESS, struct.pack("=BBBBi", socket.AF_INET6, 128, 2, 0, 1), LOCAL, address, REQUEST | CREATE)


@way("device", "Makes an interface whose name contains the data.", held=True, needs="/dev/net/tun")
def tun(to: To, token: str) -> int:
    handle = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(handle, TUN_SET, struct.pack("16sH22x", f"tun{token}".encode(), TUN | NO_PACKET_INFO))
    return handle
