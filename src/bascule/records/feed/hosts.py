"""Hosts that sandboxed servers requested from the egress proxy. Of a refused host only the end is kept: the rest of a
name can carry any data."""

import ipaddress
import re

import msgspec

from bascule.core.events import HostAsked
from bascule.core.principal import Principal
from bascule.records.audit.pseudonyms import Aliases

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)

_TWO = 2

LONGEST_LABEL = 24
"""Characters of one of the two last labels of a name. A longer one is no name that anybody would remember."""


class HostNote(msgspec.Struct, frozen=True, gc=False):
    """One of them."""

    server: str
    principal: Principal
    host: str
    port: int | None
    refused: str
    sent: int
    received: int
    at: float


def host_note(event: HostAsked, aliases: Aliases) -> HostNote:
    host = shown_host(event.host, aliases) if event.refused else event.host
    return HostNote(
        event.server, event.principal, host, event.port, event.refused, event.sent, event.received, event.at
    )


def shown_host(host: str, aliases: Aliases) -> str:
    """The address, or the two last labels of the name; an alias for the rest, or for all of it."""
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        labels = host.rstrip(".").split(".")
    last = labels[-_TWO:]
    if len(labels) < _TWO or not all(_LABEL.fullmatch(each) and len(each) <= LONGEST_LABEL for each in last):
        return aliases.of(host)
    told = ".".join(last)
    return told if len(labels) == _TWO else f"{aliases.of(host)}.{told}"
