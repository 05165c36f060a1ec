"""Choice of the transport for a URL, by its scheme and the `transport` key."""

from collections.abc import Iterator, Mapping

from bascule.config.model.transport import (
    RemoteTransport,
    SseTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.secret import Secret
from bascule.config.urls import HTTP, UNIX, WEBSOCKET, scheme_of
from bascule.config.validation import Flaw, http_flaws, unix_flaws, ws_flaws

_SCHEMES = {"auto": (*HTTP, *WEBSOCKET, UNIX), "http": (*HTTP, UNIX), "sse": HTTP, "ws": WEBSOCKET}
"""How an address may begin, by the word for the transport."""

_FLAWS = {"http": http_flaws, "sse": http_flaws, "ws": ws_flaws, "unix": unix_flaws}


def remote_kind(url: str, choice: str) -> str:
    """The kind of transport. Where the word leaves it open, the address decides."""
    if choice in {"sse", "ws"}:
        return choice
    scheme = scheme_of(url)
    if scheme == UNIX:
        return "unix"
    return "ws" if choice == "auto" and scheme in WEBSOCKET else "http"


def remote_flaws(url: str | None, headers: Mapping[str, str], choice: str) -> Iterator[Flaw]:
    scheme, fitting = scheme_of(url or ""), _SCHEMES[choice]
    if not scheme or scheme in fitting:
        yield from _FLAWS[remote_kind(url or "", choice)](url=url, headers=headers)
    elif scheme in _SCHEMES["auto"]:
        ways = _either(fitting)
        yield Flaw(("transport",), f"says {choice}, but the address begins with {scheme}://; for {choice} it is {ways}")
    else:
        yield Flaw(("url",), f"must begin with {_either(fitting)}")


def remote_transport(url: str, headers: Mapping[str, Secret | str], choice: str) -> RemoteTransport:
    match remote_kind(url, choice):
        case "sse":
            return SseTransport(url, headers)
        case "ws":
            return WebSocketTransport(url, headers)
        case "unix":
            return UnixSocketTransport(url, headers)
        case _:
            return StreamableHttpTransport(url, headers, "http" if choice == "http" else "auto")


def _either(schemes: tuple[str, ...]) -> str:
    *others, last = (f"{scheme}://" for scheme in schemes)
    return f"{', '.join(others)} or {last}" if others else last
