"""Check of the Host and Origin headers and of the client's address, before authentication (DNS rebinding)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}

ENDS = (tuple, list)
"""As what web servers tell the address of a client."""

MOST_REMEMBERED = 256
"""Names and addresses that are taken apart once: clients say the same few with every request."""


class Knock(NamedTuple):
    """What a request says of itself before its body is read: each header as often as it came, and the ends of its
    connection as the web server tells them."""

    hosts: Sequence[str]
    origins: Sequence[str]
    scheme: str
    client: Any
    server: Any


class TurnedAway(NamedTuple):
    """A request that nobody of the protocol sends, with the status of its answer."""

    status: int
    words: str


@dataclass(frozen=True, slots=True)
class HouseRules:
    """Whom a server lets in."""

    hosts: tuple[str, ...] = ()
    """Names, or patterns of names, by which clients may call the server, beside those of this machine itself."""
    origins: tuple[str, ...] = ()
    """Web pages, or patterns of them, that may ask, beside those that the server itself serves."""
    loopback_only: bool = False

    def turn_away(self, knock: Knock) -> TurnedAway | None:
        """In this order: who is on another machine, where one user stands for everybody; a name that is not ours, by
        which a web page's own name was made to lead here; a web page that is not ours, also one that another program on
        this machine serves."""
        if self.loopback_only and not _is_here(knock.client):
            return TurnedAway(403, "a development principal is for this machine alone")
        if len(knock.hosts) != 1 or not self._is_ours(knock.hosts[0], knock.server):
            return TurnedAway(421, "no server of this name is here")
        if knock.origins and not all(self._may_ask(origin, knock) for origin in knock.origins):
            return TurnedAway(403, "a web page of another origin may not ask here")
        return None

    def _is_ours(self, host: str, server: Any) -> bool:
        name = _name_of(host)
        if name == "localhost" or is_loopback(name):
            return True
        # An address of this machine at which it listens; a path is the name of a socket file.
        listening = {str(server[0]).lower()} if server and not str(server[0]).startswith("/") else set[str]()
        return bool(name) and (name in listening or _matches(name, self.hosts))

    def _may_ask(self, origin: str, knock: Knock) -> bool:
        asking = origin_of(origin)
        if asking is None:
            return False
        return asking == origin_of(f"{knock.scheme}://{knock.hosts[0]}") or _matches(asking, self.origins)


def origin_of(url: str) -> str | None:
    """Scheme, name and port, as they are compared. None for what is no origin of the web: `null`, say, or a path."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme.lower())
    except ValueError:
        return None
    if parts.path not in {"", "/"} or parts.query or parts.fragment or not parts.hostname or port is None:
        return None
    return f"{parts.scheme.lower()}://{parts.hostname.lower()}:{port}"


@lru_cache(maxsize=MOST_REMEMBERED)
def _name_of(host: str) -> str:
    """Without its port and brackets. Nothing for what is no name of a host."""
    try:
        parts = urlsplit(f"//{host}")
        # A port that is none is found out by asking for it.
        return (parts.hostname or "").lower() if parts.netloc == host and parts.port != 0 else ""
    except ValueError:
        return ""


def _matches(text: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _is_here(client: object) -> bool:
    """Whether whoever asks is on this machine. Who cannot be told is not."""
    return isinstance(client, ENDS) and bool(client) and is_loopback(str(client[0]))  # pyright: ignore[reportUnknownArgumentType]


@lru_cache(maxsize=MOST_REMEMBERED)
def is_loopback(name: str) -> bool:
    """Whether it is an address of this machine that no other can reach."""
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # A listener for both families sees callers of the older one by addresses of the newer.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
