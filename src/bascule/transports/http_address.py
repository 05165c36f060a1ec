"""Where an HTTP server is: which URLs and headers we accept, how they are shown, and where a redirect may lead."""

import re
from collections.abc import Mapping

from multidict import CIMultiDict
from yarl import URL

from bascule.core.errors import ConnectFailed
from bascule.wire.jsonrpc import sample

OURS = frozenset(
    {"accept", "accept-encoding", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"}
)
"""Headers that only the transport knows the value of. Files written for other clients set some of them; ours win."""

FRAMING = frozenset(
    {"connection", "content-encoding", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that decide where a message ends. One from a config could make two requests of one."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 3
"""Enough for a missing slash and a moved path; more is a loop."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def parse_url(text: str) -> URL:
    try:
        url = URL(text)
    except ValueError as error:
        raise _unusable("the URL cannot be read", str(error), "write it as https://host/path") from None
    if url.scheme not in {"http", "https"} or not url.raw_host:
        raise _unusable("the URL is not one of http or https", shown(url), "write it as https://host/path")
    if url.raw_user is not None or url.raw_password is not None:
        raise _unusable("the URL carries credentials", shown(url), "put them into headers.Authorization")
    return url.with_fragment(None)


def shown(url: URL) -> str:
    """The URL as it may appear in a message: a query or a user can hold a secret."""
    if not url.absolute:
        return sample(url.raw_path.encode())
    hidden = "?…" if url.raw_query_string else ""
    return sample(f"{origin(url)}{url.raw_path}".encode()) + hidden


def origin(url: URL) -> str:
    host = url.raw_host or ""
    host = f"[{host}]" if ":" in host else host
    return (
        f"{url.scheme}://{host}" if url.is_default_port() or url.port is None else f"{url.scheme}://{host}:{url.port}"
    )


def base_headers(configured: Mapping[str, str]) -> CIMultiDict[str]:
    """What goes with every request, from what was configured. Raises `ConnectFailed` on what could not be sent."""
    headers = CIMultiDict[str]()
    for name, value in configured.items():
        # The value may be a secret: only the name is ever told.
        if not _TOKEN.fullmatch(name) or _CONTROL.search(value):
            raise _unusable("a configured header cannot be sent", sample(name.encode()), "remove control characters")
        if name.lower() in FRAMING:
            raise _unusable(f"the header {name} is set by the transport alone", name, f"remove {name} from headers")
        if name.lower() not in OURS:
            headers[name] = value
    headers["Accept"] = "application/json, text/event-stream"
    # A few compressed bytes can unfold to gigabytes, so none are asked for and none are taken.
    headers["Accept-Encoding"] = "identity"
    headers.setdefault("User-Agent", "bascule")
    return headers


def redirect_target(url: URL, status: int, location: str | None) -> URL:
    """Where to send the same body again. Raises `ConnectFailed` unless that is the same server and the same method."""
    target = _joined(url, location)
    if target is None:
        raise _refused(f"HTTP {status} without a usable Location", url, evidence=f"Location: {location!r:.200}")
    if origin(target) != origin(url):
        raise _refused(
            f"it redirects to another server: from {origin(url)} to {origin(target)}",
            url,
            evidence=f"HTTP {status}, Location: {shown(target)}",
            fix=f"if that server is the one you mean, use URL {shown(target)}",
        )
    if status not in {307, 308}:
        raise _refused(
            f"HTTP {status} would turn the request into a GET",
            url,
            evidence=f"Location: {shown(target)}",
            fix=f"use URL {shown(target)}",
        )
    return target


def too_many_redirects(url: URL, count: int) -> ConnectFailed:
    return _refused(f"it redirected more than {count} times", url, evidence=f"last to {shown(url)}")


def _joined(url: URL, location: str | None) -> URL | None:
    if not location:
        return None
    try:
        target = url.join(URL(location))
    except ValueError:
        return None
    has_user = target.raw_user is not None or target.raw_password is not None
    return None if has_user or not target.raw_host else target.with_fragment(None)


def _refused(reason: str, url: URL, *, evidence: str, fix: str = "") -> ConnectFailed:
    return ConnectFailed(
        f"{shown(url)} redirects, and the redirect was not followed: {reason}",
        where=shown(url),
        evidence=evidence,
        fix=fix or "ask whoever runs the server for the URL of its MCP endpoint",
    )


def _unusable(message: str, evidence: str, fix: str) -> ConnectFailed:
    return ConnectFailed(message, where="url and headers", evidence=evidence, fix=fix)
