"""What is looked at before anything else of a request over HTTP."""

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

JSON = "application/json"

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class HouseRules:
    """Whom a server lets in, as far as that can be told before it is known who asks."""

    paths: tuple[str, ...]
    """Where messages of the protocol are posted to."""
    hosts: tuple[str, ...] = ()
    """Names, or patterns of names, by which clients may call the server, beside those of this machine itself."""
    origins: tuple[str, ...] = ()
    """Web pages, or patterns of them, that may ask, beside those that the server itself serves."""
    loopback_only: bool = False


class Doorkeeper:
    """Turns away what no client of the protocol sends, in this order: who is on another machine, where one user stands
    for everybody; a name that is not ours, by which a web page's own name was made to lead here; a web page that is not
    ours, also one that another program on this machine serves; a body that is not JSON, which a web page can send
    without being asked."""

    def __init__(self, app: ASGIApp, *, rules: HouseRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        if self._rules.loopback_only and not _is_here(scope.get("client")):
            return _said(403, "a development principal is for this machine alone")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0], scope):
            return _said(421, "no server of this name is here")
        if not all(self._may_ask(origin, hosts[0], scope) for origin in headers.getlist("origin")):
            return _said(403, "a web page of another origin may not ask here")
        if scope["method"] == "POST" and self._is_for_messages(scope):
            kind = headers.get("content-type", "")
            if kind.partition(";")[0].strip().lower() != JSON:
                return _said(415, f"the body must be {JSON}")
        return None

    def _is_ours(self, host: str, scope: Scope) -> bool:
        name = _name_of(host)
        if name == "localhost" or _is_loopback(name):
            return True
        server = scope.get("server")
        # An address of this machine at which it listens; a path is the name of a socket file.
        listening = {str(server[0]).lower()} if server and not str(server[0]).startswith("/") else set[str]()
        return bool(name) and (name in listening or _matches(name, self._rules.hosts))

    def _may_ask(self, origin: str, host: str, scope: Scope) -> bool:
        asking = origin_of(origin)
        if asking is None:
            return False
        return asking == origin_of(f"{scope.get('scheme', 'http')}://{host}") or _matches(asking, self._rules.origins)

    def _is_for_messages(self, scope: Scope) -> bool:
        # Mounted in another app, the path has that app's part before ours.
        path = scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/")
        return any(path == each or path.startswith(f"{each}/") for each in self._rules.paths)


def origin_of(url: str) -> str | None:
    """Scheme, name and port, as they are compared. None for what is no origin of the web: `null`, say, or a path."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme.lower())
    except ValueError:
        return None
    if parts.path not in {"", "/"} or parts.query or parts.fragment or not parts.hostname or port is None:
        return None
    return f"{parts.scheme.lower()}://{parts.hostname.lower()}:{port}"


def _name_of(host: str) -> str:
    """Without its port and brackets. Nothing for what is no name of a host."""
    try:
        parts = urlsplit(f"//{host}")
        # A port that is none is found out by asking for it.
        return (parts.hostname or "").lower() if parts.netloc == host and parts.port != 0 else ""
    except ValueError:
        return ""


def _matches(text: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _is_here(client: object) -> bool:
    """Whether whoever asks is on this machine. Who cannot be told is not."""
    return isinstance(client, tuple | list) and bool(client) and _is_loopback(str(client[0]))  # pyright: ignore[reportUnknownArgumentType]


def _is_loopback(name: str) -> bool:
    try:
        address = ip_address(name)
    except ValueError:
        return False
    # A listener for both families sees callers of the older one by addresses of the newer.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _said(status: int, words: str) -> JSONResponse:
    return JSONResponse({"error": words}, status_code=status)
