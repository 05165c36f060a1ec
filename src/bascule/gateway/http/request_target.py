"""Request target of an HTTP request: its path, its query, and the server that an absolute target names.

Pure, so that targets can be tried without a connection.
"""

from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import httptools

from bascule.identity.host_origin_check import PORTS

_BEYOND = frozenset(b"/?#@")
"""Characters of a URL that are no part of a host and port."""


class BadTarget(ValueError):
    """A request target that no client of the gateway sends."""


class Authority(NamedTuple):
    """Server that an absolute request target or a Host header names."""

    scheme: bytes
    host: bytes
    port: int


@lru_cache(maxsize=16)
def parts_of(target: bytes) -> tuple[str, bytes, bytes, Authority | None]:
    """Path, decoded and raw, query, and the authority of an absolute target. Clients repeat the same few targets.
    Raises `BadTarget`."""
    try:
        # Its type leaves out that a target may lack a part.
        parsed: Any = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise BadTarget("the request target is neither a path nor a URL") from None
    raw: bytes = parsed.path or b"/"
    path = raw.decode("ascii")
    authority = _authority_in(parsed) if parsed.schema is not None else None
    return unquote(path) if "%" in path else path, raw, parsed.query or b"", authority


def server_named_by(host: bytes, scheme: bytes) -> Authority | None:
    """Server that a Host header names; None for a value that is no host and port."""
    if not _BEYOND.isdisjoint(host):
        return None
    try:
        return _authority_in(httptools.parse_url(b"%s://%s" % (scheme, host)))
    except (BadTarget, httptools.HttpParserInvalidURLError):
        return None


def _authority_in(parsed: Any) -> Authority:
    scheme = parsed.schema.lower()
    default = PORTS.get(scheme.decode("ascii"))
    if default is None or parsed.userinfo is not None:
        raise BadTarget("the request target is no http or https URL without a user name")
    return Authority(scheme, parsed.host.lower(), default if parsed.port is None else parsed.port)
