"""SSRF guard for OAuth: a server names URLs, and none of them may lead to hosts inside the own network."""

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")


class Reach(IntEnum):
    """How near the server is that the operator named. What it names in turn may be as near, and not nearer."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2


def reach_of(addresses: list[str]) -> Reach:
    """The reach of a server with these addresses: that of its farthest one."""
    return min((_nearness(_plain(ip_address(text))) or Reach.PUBLIC for text in addresses), default=Reach.PUBLIC)


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
