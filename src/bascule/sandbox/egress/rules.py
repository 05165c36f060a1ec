"""RBAC rules of Envoy for `egress.allow`. The first rule that applies denies the request, and is named in the log."""

from typing import Any

from bascule.config.model.egress import Egress, host_pattern

AUTHORITY = ":authority"

_NUMBER = r"(?i)(?:\[.*|[0-9.]+|0x[0-9a-fx.]*)(?::[0-9]*)?"
"""An address in one of the ways to write it. None would match a host; this one is for the reason."""

ADDRESS, HOST, PORT, SCHEME = "address", "host", "port", "scheme"
"""The names of the rules. Envoy goes by the alphabet, and so do these."""


def name_rules(egress: Egress) -> dict[str, Any]:
    """Deny what is not allowed: each rule applies to what does *not* match, so that a request without what it looks at
    is refused too."""
    denied = {
        ADDRESS: _header(AUTHORITY, _NUMBER),
        HOST: _not(_hosts(egress.allow)) if egress.allow else {"any": True},
        PORT: _not(_ports(egress.ports)),
        SCHEME: _both(_not(_CONNECT), _not(_header(":scheme", "http"))),
    }
    policies = {name: {"permissions": [rule], "principals": [{"any": True}]} for name, rule in denied.items()}
    return {"action": "DENY", "policies": policies}


def address_rules(closed: tuple[str, ...], key: str) -> dict[str, Any]:
    """Allow what was resolved to an address outside these ranges, so that what was not resolved is refused."""
    match = {"key": key, "address_match": address_match(closed, inverted=True)}
    return {
        "action": "ALLOW",
        "policies": {"resolved": {"permissions": [{"any": True}], "principals": [{"filter_state": match}]}},
    }


def address_match(ranges: tuple[str, ...], *, inverted: bool) -> dict[str, Any]:
    return {"ranges": [_cidr(text) for text in ranges], "invert_match": inverted}


def _cidr(text: str) -> dict[str, Any]:
    prefix, _, length = text.partition("/")
    return {"address_prefix": prefix, "prefix_len": int(length)}


def _hosts(allow: tuple[str, ...]) -> dict[str, Any]:
    return _header(AUTHORITY, rf"(?i)(?:{host_pattern(allow)})(?::[0-9]+)?")


def _ports(ports: tuple[int, ...]) -> dict[str, Any]:
    written = _header(AUTHORITY, rf".*:(?:{'|'.join(map(str, ports))})")
    if 80 not in ports:
        return written
    # A tunnel has no port of its own accord; what is asked for in the clear has this one.
    unwritten = _both(_not(_CONNECT), _header(AUTHORITY, "[^:]*"))
    return {"or_rules": {"rules": [written, unwritten]}}


def _header(name: str, pattern: str) -> dict[str, Any]:
    return {"header": {"name": name, "string_match": {"safe_regex": {"regex": pattern}}}}


_CONNECT = _header(":method", "CONNECT")


def _not(rule: dict[str, Any]) -> dict[str, Any]:
    return {"not_rule": rule}


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {"and_rules": {"rules": [one, other]}}
