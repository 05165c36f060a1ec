"""SSRF guard for OAuth: a server names URLs, and none of them may lead to hosts inside the own network."""

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import cast
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")


class Reach(IntEnum):
    """Farthest inward that a login may go: addresses of the internet, of private networks too, of the loopback too."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2


def reach_of(server_url: str, peer: str) -> Reach:
    """Reach of a login at this server, by the peer address of the connection that gave the challenge. A name never
    gives the loopback: DNS decides where a name leads, and the operator of the server decides what DNS answers."""
    literal = literal_address(_host(server_url))
    if literal is not None:
        return _nearness(_plain(ip_address(literal))) or Reach.PUBLIC
    near = _nearness(_plain(ip_address(peer))) if peer else None
    return Reach.PRIVATE if near is Reach.PRIVATE else Reach.PUBLIC


def peer_address(peername: object) -> str:
    """IP address in the peer name of a socket, without its zone; empty for a Unix socket or a closed one."""
    if not isinstance(peername, tuple):
        return ""
    address = str(cast("tuple[object, ...]", peername)[0]).partition("%")[0]
    return address if literal_address(address) == address else ""


def literal_address(host: str) -> str | None:
    """The address that a host name spells out, or stands for on every machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ip_address(host))
    except ValueError:
        return None


def may_connect(address: str, reach: Reach) -> bool:
    nearness = _nearness(_plain(ip_address(address)))
    return nearness is not None and nearness <= reach


def may_resolve_to(host: str, address: str, reach: Reach) -> bool:
    """Admissibility of one address to which DNS resolves a host. A name other than `localhost` may not mean the
    loopback, however near the server is."""
    return may_connect(address, reach if literal_address(host) is not None else min(reach, Reach.PRIVATE))


def url_refusal(url: str, reach: Reach) -> str:
    """Why nothing may be sent to this URL; empty if it may. A name is judged again by what it resolves to."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return "it cannot be read"
    address = literal_address(host)
    loopback = address is not None and ip_address(address).is_loopback
    if not host or parts.username is not None or parts.password is not None:
        return "it names no host, or carries a password"
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        return "it is not https"
    if address is not None and not may_connect(address, reach):
        return "it is an address inside our own network"
    return ""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _nearness(address: Address) -> Reach | None:
    """None for addresses that are nobody's, or those of the link, where clouds keep the keys of their machines."""
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return None
    if address.is_loopback:
        return Reach.LOOPBACK
    return Reach.PUBLIC if address.is_global else Reach.PRIVATE


def _plain(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one: it is where a packet ends up."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
