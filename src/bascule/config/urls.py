"""Addresses of remote servers: which we can reach, and how one is shown without what is secret in it."""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from bascule.config.secret import MASK

REACHABLE = ("https", "http")
LATER = ("ws", "wss", "unix")
"""Schemes we know but cannot speak in this version."""

NOT_AVAILABLE = "is not available in this version"

_LONG_SEGMENT = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_=-]{20,}")
"""A part of a path that is a key rather than a word: some services put one there."""

_LOOPBACK = re.compile(r"127(?:\.[0-9]{1,3}){3}")
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f]")


def url_flaw(url: str) -> str | None:
    """What is wrong with a server's address, never repeating it: an address may hold a secret."""
    parts = _split(url)
    if parts is None or not url or _UNFIT.search(url):
        return "is not an address; write https://host/path"
    if parts.scheme in LATER:
        return f"{parts.scheme}:// {NOT_AVAILABLE}; use an https:// or http:// address"
    if parts.scheme not in REACHABLE:
        return "must begin with https:// or http://"
    if not parts.hostname:
        return "names no host; write https://host/path"
    if parts.username is not None or parts.password is not None:
        return "holds a user or password, which would show in logs; send it in `headers` instead"
    return None


def shown_url(url: str) -> str:
    """The address for people: host and path, with anything that may be a secret masked."""
    parts = _split(url)
    if parts is None or not parts.netloc:
        return MASK
    host = parts.netloc.rpartition("@")[2]
    path = "/".join(MASK if _LONG_SEGMENT.fullmatch(segment) else segment for segment in parts.path.split("/"))
    return f"{parts.scheme}://{host}{path}" + (f"?{_shown_query(parts.query)}" if parts.query else "")


def _shown_query(query: str) -> str:
    if "=" not in query:
        return MASK  # one value without a name; it may be the secret itself
    return "&".join(f"{name}={MASK}" for name, _ in parse_qsl(query, keep_blank_values=True))


def is_in_clear(url: str) -> bool:
    """Whether what is sent there can be read on the way."""
    parts = _split(url)
    return parts is not None and parts.scheme == "http" and not _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.endswith(".localhost") or _LOOPBACK.fullmatch(host) is not None


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
