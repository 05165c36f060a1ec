"""Egress allowlist: hosts and ports that may receive CONFIDENTIAL data."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from bascule.config.validation import Flaw, items, refuse

PORTS = (80, 443)

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True, slots=True)
class Egress:
    """What the proxied lane lets through. Nothing listed: nothing gets through."""

    allow: tuple[str, ...] = ()
    """Hosts in lower case, exact, or `*.` and a domain, which means every name below it and not the domain itself."""
    ports: tuple[int, ...] = PORTS

    def __post_init__(self) -> None:
        refuse("Egress", egress_flaws(self.allow, self.ports))
        object.__setattr__(self, "allow", tuple(str(host).lower().rstrip(".") for host in self.allow))
        object.__setattr__(self, "ports", tuple(self.ports))


def host_pattern(allow: tuple[str, ...]) -> str:
    """Regular expression of the allowed hosts, for the egress proxy and for addresses that a client opens by itself.
    Without hosts it matches nothing."""
    return "|".join(map(_pattern_of, allow)) or r"[^\s\S]"


def _pattern_of(name: str) -> str:
    exact = name.removeprefix("*.").replace(".", r"\.")
    return rf"(?:[a-z0-9_-]+\.)+{exact}" if name.startswith("*.") else exact


def egress_flaws(allow: Any, ports: Any) -> Iterator[Flaw]:
    hosts = items(allow)
    if hosts is None:
        yield Flaw(("allow",), "must be a list of hosts")
    for index, host in enumerate(hosts or ()):
        if flaw := _host_flaw(host):
            yield Flaw(("allow", index), flaw)
    numbers = items(ports)
    if not numbers or not all(_is_port(number) for number in numbers):
        yield Flaw(("ports",), "must be a list of port numbers, such as [80, 443]")


def _host_flaw(host: Any) -> str | None:
    if not isinstance(host, str) or not host.strip():
        return "must be a host, such as api.example.org"
    name = host.lower().removesuffix(".")
    if _is_address(name.strip("[]")):
        return "is an address; only names are let through, so that it is known who receives"
    if "/" in name or ":" in name:
        return "must be the host alone, without scheme, port or path; ports stand in `egress.ports`"
    if len(name) > 253 or not _HOST.fullmatch(name):
        return "is no host name; a wildcard stands for the first part alone, as in *.example.org"
    return None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        # 127.1, 0x7f000001 and 2130706433 are addresses to some programs.
        return bool(re.fullmatch(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*", host))
    return True


def _is_port(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number < 65536
