"""HTTP source: a web service that tools may use, with base URL, hosts, methods and sensitivity of its data."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors.source import check_source

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?")
_PORTS = {"http": 80, "https": 443}
_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
_UNCLEAN = re.compile(r"[\x00-\x20\x7f\\#]|[^\x00-\x7f]")
"""What does not belong into an address as it is sent: blanks, line ends, backslashes, fragments, other than ASCII."""


class Origin(NamedTuple):
    """To whom a request goes. Two are the same only if all three are."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class HttpSource:
    """Requests go to `base_url`, and to no other host but those in `hosts`."""

    name: str
    base_url: str
    sensitivity: DataSensitivity
    hosts: AbstractSet[str] = frozenset()
    """More names, each perhaps with a port: `cdn.example.com`, `example.com:8443`."""
    methods: AbstractSet[str] = frozenset(["GET", "HEAD"])
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent to `base_url` only, so that no other host learns a password that stands in them."""
    allow_private: bool = False
    """Whether addresses may be reached that only this machine or its network can: for one's own services, and tests."""
    seconds: float = 30.0
    most_bytes: int = 1024 * 1024

    def __post_init__(self) -> None:
        check_source(self)
        if isinstance(self.hosts, str) or isinstance(self.methods, str):
            raise TypeError(f"hosts and methods of {self.name} are sets of texts, not one text")
        object.__setattr__(self, "hosts", frozenset(self.hosts))
        object.__setattr__(self, "methods", frozenset(self.methods))
        object.__setattr__(self, "headers", dict(self.headers))
        if unknown := self.methods - _METHODS:
            raise TypeError(f"no such methods in {self.name}: {sorted(unknown)}")
        base = urlsplit(self.base_url)
        if base.query or _UNCLEAN.search(self.base_url) or ".." in base.path:
            raise TypeError(f"the base_url of {self.name} is an address without query and fragment")
        try:
            origin_of(base)
        except UsageError as error:
            raise TypeError(f"the base_url of {self.name} cannot be used: {error.message}") from None

    @property
    def origin(self) -> Origin:
        return origin_of(urlsplit(self.base_url))

    def may_reach(self, origin: Origin) -> bool:
        """A service that is reached by TLS is never asked without."""
        if origin == self.origin:
            return True
        if origin.scheme not in {self.origin.scheme, "https"}:
            return False
        return f"{origin.host}:{origin.port}" in self.hosts or (
            origin.port == _PORTS[origin.scheme] and origin.host in self.hosts
        )

    def address(self, path: str) -> str:
        """The whole address for a path below `base_url`, or for a whole address that may be asked too."""
        if not path.lower().startswith(("http://", "https://")):
            path = f"{self.base_url.rstrip('/')}/{path.lstrip('/')}"
        return self.checked(path)

    def checked(self, url: str) -> str:
        if _UNCLEAN.search(url):
            raise UsageError(
                "an address holds no blanks, line ends, backslashes or fragments", fix="percent-encode them"
            )
        parts = urlsplit(url)
        if climbs(parts.path):
            raise UsageError("a path does not climb with dots", fix="write the path out")
        if not self.may_reach(origin_of(parts)):
            raise UsageError(
                "this host may not be asked",
                where=self.name,
                evidence=parts.netloc[:100],
                fix=f"ask {self.origin.host}",
            )
        return url


def climbs(path: str) -> bool:
    """Also when written so that only a second reader would see it."""
    for _ in range(3):
        if any(part in {".", ".."} for part in re.split(r"[/\\;]", path)):
            return True
        path = unquote(path)
    return False


def origin_of(parts: SplitResult) -> Origin:
    if parts.scheme not in _PORTS:
        raise UsageError("an address begins with https:// or http://", evidence=parts.scheme[:20])
    if "@" in parts.netloc:
        raise UsageError("an address holds no user and no password")
    host = (parts.hostname or "").rstrip(".")
    try:
        port = parts.port
    except ValueError:
        raise UsageError("an address has a port from 1 to 65535") from None
    if port == 0 or not _is_host(host):
        raise UsageError("an address needs the plain name of a host", evidence=host[:100])
    return Origin(parts.scheme, host, port or _PORTS[parts.scheme])


def _is_host(host: str) -> bool:
    if ":" in host:
        try:
            return "%" not in host and str(ip_address(host)) == host
        except ValueError:
            return False
    return _NAME.fullmatch(host) is not None
