"""URL checks for remote servers and databases, and their display without secrets."""

import re
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, urlsplit

from bascule.config.credential_detection import credentials_in, names_credential
from bascule.config.secret import MASK

HTTP = ("https", "http")
WEBSOCKET = ("wss", "ws")
UNIX = "unix"

POSTGRES = ("postgresql", "postgres")

HTTP_PATH = "/mcp"
"""What is asked for over a socket file, unless its address says otherwise: the path most servers listen at."""

NOT_AVAILABLE = "is not available in this version"

SOCKET_PATH_MOST = 107
"""Bytes in the path of a socket file: no kernel we run on takes more."""

_LONG_SEGMENT = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_=-]{20,}")
"""A part of a path that is a key rather than a word: some services put one there."""

_POSTGRES_URL = re.compile(r"postgres(?:ql)?://(?:[^\s@/?#]*@)?([^\s@/?#]*)/[^\s@/?#]+(?:\?[^\s#]*)?")
"""With a bare @ or / in a password, the rest of it would be taken for a part of the host or of the database's name."""

_POSTGRES_HOST = re.compile(r"(?:[A-Za-z0-9._~%-]*|\[[0-9A-Fa-f:.%]+\])(?::[0-9]+)?")

_LOOPBACK = re.compile(r"127(?:\.[0-9]{1,3}){3}")
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f]")


def url_flaw(url: str, schemes: tuple[str, ...] = HTTP) -> str | None:
    """What is wrong with a server's address, never repeating it: an address may hold a secret."""
    parts = _split(url)
    if parts is None or not url or _UNFIT.search(url):
        return f"is not an address; write {schemes[0]}://host/path"
    if parts.scheme not in schemes:
        return f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    if not parts.hostname:
        return f"names no host; write {schemes[0]}://host/path"
    if parts.username is not None or parts.password is not None:
        return "holds a user or password, which would show in logs; send it in `headers` instead"
    return None


def ws_url_flaw(url: str) -> str | None:
    """The same for a WebSocket, whose address carries nothing but the way: no fragment, and nobody's credentials."""
    flaw = url_flaw(url, WEBSOCKET)
    parts = _split(url)
    if flaw or parts is None:
        return flaw
    if parts.fragment or url.endswith("#"):
        return "has a fragment (#…), which a WebSocket address cannot have; remove it"
    named = any(names_credential(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    if named or any(credentials_in((url,))):
        return "holds a credential, which would show in logs; send it in `headers` instead"
    return None


def unix_url_flaw(url: str) -> str | None:
    """The same for a socket file."""
    parts = _split(url)
    if parts is None or _UNFIT.search(url):
        return _WRITE_UNIX
    if parts.scheme != UNIX or parts.netloc or not parts.path.startswith("/"):
        # `unix://run/x.sock` would be the host `run`; a path from here on would depend on where we were started.
        return "must begin with unix:/// and then give the whole path of a socket, from the root on"
    if parts.fragment or url.endswith("#"):
        return "has a fragment (#…), which means nothing to a server; remove it"
    socket, _ = socket_and_path(url)
    if socket.endswith("/") or "\0" in socket or (parts.query and ":/" not in parts.path):
        return _WRITE_UNIX
    if len(socket.encode()) > SOCKET_PATH_MOST:
        return f"names a socket by more than {SOCKET_PATH_MOST} bytes, which no kernel takes; give it a shorter path"
    return None


_WRITE_UNIX = (
    "is no address of a socket; write unix:///path/to.sock, or unix:///path/to.sock:/mcp to name the HTTP path"
)


def socket_and_path(url: str) -> tuple[str, str]:
    """The socket file that a `unix:` address names, and the HTTP path with its query to ask for there."""
    parts = urlsplit(url)
    socket, colon, path = parts.path.partition(":/")
    query = f"?{parts.query}" if parts.query else ""
    return unquote(socket), f"/{path}{query}" if colon else HTTP_PATH


def postgres_url_flaw(url: str) -> str | None:
    """What is wrong with the address of a database, never repeating it."""
    found = _POSTGRES_URL.fullmatch(url)
    if found and all(_POSTGRES_HOST.fullmatch(host) for host in found[1].split(",")):
        return None
    return "is no address of a database; write postgresql://user@host/database, and in a password %40 for @, %2F for /"


def shown_store(store: str) -> str:
    """A path as it is; of the address of a database the host and the name, and nothing of who asks."""
    scheme, colon, rest = store.partition("://")
    if not colon or scheme.lower() not in POSTGRES:
        return store
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def scheme_of(url: str) -> str:
    """The scheme in lower case; empty for what has none."""
    parts = _split(url)
    return parts.scheme if parts is not None else ""


def shown_url(url: str) -> str:
    """The address for people: host and path, with anything that may be a secret masked."""
    parts = _split(url)
    if parts is None or not (parts.netloc or parts.scheme == UNIX):
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
    return parts is not None and parts.scheme in {"http", "ws"} and not _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.endswith(".localhost") or _LOOPBACK.fullmatch(host) is not None


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def secrets_in_url(url: str) -> tuple[str, ...]:
    """What of an address is a secret by its name or its looks, as it is written and as it is meant."""
    parts = _split(url)
    if parts is None:
        return ()
    named = [value for name, value in parse_qsl(parts.query) if names_credential(name) or any(credentials_in((value,)))]
    bare = [parts.query] if parts.query and "=" not in parts.query else []
    # The path of a socket file is one of this machine, which people need to see.
    path = parts.path.partition(":/")[2] if parts.scheme == UNIX else parts.path
    keys = [segment for segment in path.split("/") if _LONG_SEGMENT.fullmatch(segment)]
    found = (*named, *bare, *keys)
    return tuple(dict.fromkeys((*found, *map(quote, found), *map(quote_plus, found))))
