"""Which addresses a box is never connected to: this machine's, its network's, and all not of the internet."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

CLOSED = (
    "0.0.0.0/8",  # unspecified: to many systems another name of loopback
    "10.0.0.0/8",
    "100.64.0.0/10",  # between a provider and its customers; some clouds keep their metadata here
    "127.0.0.0/8",
    "168.63.129.16/32",  # looks public, and is where a machine of one cloud learns its secrets
    "169.254.0.0/16",  # link-local, with most clouds' metadata
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    # Of IPv6 only 2000::/3 is given out so far. What lies elsewhere is for a machine, for a network, or a way to write
    # an address of IPv4.
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",  # tunnels, and protocols' own
    "2002::/16",  # holds an address of IPv4, and who routes it is anybody's guess
    "3fff::/20",
)
"""The ranges for documentation in IPv4, and 2001:db8::/32, are not here: they lead nowhere, but in a network that
somebody made to try something out."""

_NETWORKS = tuple(ip_network(text) for text in CLOSED)


def closed_ranges(own: Iterable[str]) -> tuple[str, ...]:
    """With the addresses of this machine that look as if they were of the internet."""
    return (*CLOSED, *(str(ip_network(text)) for text in sorted(own) if not is_closed(text)))


def is_closed(address: str) -> bool:
    found = ip_address(address)
    return any(_within(found, network) for network in _NETWORKS)


def _within(address: IPv4Address | IPv6Address, network: IPv4Network | IPv6Network) -> bool:
    return address.version == network.version and address in network
