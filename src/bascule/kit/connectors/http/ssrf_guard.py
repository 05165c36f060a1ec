"""SSRF guard: resolves a host once, and accepts only addresses of the public internet."""

import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from bascule.core.errors import ConnectFailed, UsageError

_UNICAST = ip_network("2000::/3")
"""All that is given out of IPv6 so far. What lies elsewhere is for a machine, for a network, or a way to write IPv4."""

_NAT64 = ip_network("64:ff9b::/96")

_CLOSED = [
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # looks public, and is where a machine of one cloud learns its secrets
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",  # holds an address of IPv4, and who routes it is anybody's guess
        "3fff::/20",
    )
]
"""By ourselves, since what Python calls global differs from one version to the next."""


def is_public(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    found = _meant(found)
    if isinstance(found, IPv6Address) and found not in _UNICAST:
        return False
    return found.is_global and not any(found.version == net.version and found in net for net in _CLOSED)


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The one of IPv4 that is reached by this one of IPv6, if it is such a one."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else address


def resolved(host: str, port: int, seconds: float, *, allow_private: bool) -> tuple[str, ...]:
    """The addresses to connect to. They are looked up once, and whoever connects uses these and no name.

    If one of them is not public none is used: a name that means both is a name that is being played with.
    """
    found = _looked_up(host, port, seconds)
    if not allow_private and (private := [address for address in found if not is_public(address)]):
        raise UsageError(
            "this host is not on the internet, but on this machine or its network",
            evidence=f"{host[:100]} is {private[0]}",
            fix="ask another host; if this one is meant, whoever wrote the source has to allow it",
        )
    return found


def _looked_up(host: str, port: int, seconds: float) -> tuple[str, ...]:
    found: list[str] = []

    def look() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return
        found.extend(dict.fromkeys(str(answer[4][0]) for answer in answers))

    # The system's look-up knows no limit of ours; one that hangs is left to itself.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise ConnectFailed("this host was not found", evidence=host[:100], fix="look at its name, or try again later")
    return tuple(found)
