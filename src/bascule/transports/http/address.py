"""Address of an HTTP server: accepted URLs and headers, display without secrets, and allowed redirects."""

import re
from collections.abc import Mapping

from multidict import CIMultiDict
from yarl import URL

from bascule.core.errors import ConnectFailed
from bascule.wire.jsonrpc import sample
from bascule.wire.upstream_headers import UPSTREAM_HEADERS

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
_VISIBLE = re.compile(r"[\x21-\x7e]{1,4096}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def parse_url(text: str, schemes: tuple[str, str] = ("http", "https")) -> URL:
    plain, encrypted = schemes
    fix = f"write it as {encrypted}://host/path"
    try:
        url = URL(text)
    except ValueError as error:
        raise _unusable("the URL cannot be read", str(error), fix) from None
    if url.scheme not in schemes or not url.raw_host:
        raise _unusable(f"the URL is not one of {plain} or {encrypted}", shown(url), fix)
    if url.raw_user is not None or url.raw_password is not None:
        raise _unusable("the URL carries credentials", shown(url), "put them into headers.Authorization")
    return url.with_fragment(None)


def shown(url: URL) -> str:
    """The URL as it may appear in a message: a query or a user can hold a secret."""
    if not url.absolute:
        return sample(url.raw_path.encode())
    hidden = "?…" if url.raw_query_string else ""
    return sample(f"{origin(url)}{url.raw_path}".encode()) + hidden


def socket_address(socket: str, url: URL) -> str:
    """The same for a URL that is asked for through a socket file."""
    return sample(f"unix://{socket}:{url.raw_path}".encode()) + ("?…" if url.raw_query_string else "")


def origin(url: URL) -> str:
    host = url.raw_host or ""
    host = f"[{host}]" if ":" in host else host
    return (
        f"{url.scheme}://{host}" if url.is_default_port() or url.port is None else f"{url.scheme}://{host}:{url.port}"
    )


def base_headers(configured: Mapping[str, str]) -> CIMultiDict[str]:
    """Headers of every request of one link, from its config. Raises `ConnectFailed` on one that cannot be sent."""
    headers = _sendable(configured)
    headers["Accept"] = "application/json, text/event-stream"
    return headers


def upgrade_headers(configured: Mapping[str, str]) -> CIMultiDict[str]:
    """The same for the request that opens a WebSocket."""
    for name in configured:
        if name.lower().startswith("sec-websocket-"):
            raise _unusable(f"the header {name} is set by the transport alone", name, f"remove {name} from headers")
    return _sendable(configured)


def _sendable(configured: Mapping[str, str]) -> CIMultiDict[str]:
    headers = CIMultiDict[str]()
    for name, value in configured.items():
        # The value may be a secret: only the name is ever told.
        if not _TOKEN.fullmatch(name) or _CONTROL.search(value):
            raise _unusable("a configured header cannot be sent", sample(name.encode()), "remove control characters")
        if name.lower() in FRAMING:
            raise _unusable(f"the header {name} is set by the transport alone", name, f"remove {name} from headers")
        if name.lower() not in OURS:
            headers[name] = value
    # A few compressed bytes can unfold to gigabytes, so none are asked for and none are taken.
    headers["Accept-Encoding"] = "identity"
    for name, value in UPSTREAM_HEADERS.items():
        headers.setdefault(name, value)
    return headers


def redirect_target(url: URL, status: int, location: str | None, *, asking: bool = False) -> URL:
    """Where to send the same body again, or to ask again if only asking. Raises `ConnectFailed` unless that is the same
    server and the same method."""
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
    if not asking and status not in {307, 308}:
        raise _refused(
            f"HTTP {status} would turn the request into a GET",
            url,
            evidence=f"Location: {shown(target)}",
            fix=f"use URL {shown(target)}",
        )
    return target


def message_url(url: URL, told: bytes) -> URL:
    """Where messages go, as the server told at this URL. Raises `ConnectFailed` unless that is the same server."""
    text = told.decode("ascii", "replace").strip()
    # As it was told, to the letter: it holds the name of our session, which means nothing to us.
    target = _joined(url, text, encoded=True) if _VISIBLE.fullmatch(text) else None
    if target is None:
        raise ConnectFailed(
            "the server told us to send messages to what is not a URL",
            where=shown(url),
            evidence=sample(told),
            fix="check the path of the URL, or update the server",
        )
    if origin(target) != origin(url):
        raise ConnectFailed(
            f"the server told us to send messages to another server: from {origin(url)} to {origin(target)}",
            where=shown(url),
            evidence=f"endpoint: {shown(target)}",
            cause="it does not know under which address it is reached, or it is not to be trusted",
            fix=f"if that server is the one you mean, use a URL that begins with {origin(target)}",
        )
    return target


def too_many_redirects(url: URL, count: int) -> ConnectFailed:
    return _refused(f"it redirected more than {count} times", url, evidence=f"last to {shown(url)}")


def _joined(url: URL, location: str | None, *, encoded: bool = False) -> URL | None:
    if not location:
        return None
    try:
        target = url.join(URL(location, encoded=encoded))
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
