"""FastMCP server with authentication, tool permissions, workspaces and change notifications, its HTTP middleware (Host,
Origin and Content-Type checks) and log, and the loader that finds a server in its author's Python file."""

import logging
import os
import sys
import traceback
from collections.abc import AsyncGenerator, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from urllib.parse import urlsplit

from fastmcp import FastMCP, settings
from fastmcp.server.http import StarletteWithLifespan
from fastmcp.server.providers.base import Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools.base import Tool
from fastmcp.utilities.versions import VersionSpec
from mcp.shared.subscriptions import ResourceUpdated
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bascule.config.model.auth import AuthSettings
from bascule.config.model.kit_server import HOST, PATH, PORT
from bascule.core.errors import BasculeError, ConfigError
from bascule.core.principal import Principal
from bascule.identity.host_origin_check import HouseRules, Knock, TurnedAway, origin_of
from bascule.identity.jwt.claims import AT_SPAWN, SPAWN_VARIABLE, audience_of_url
from bascule.identity.jwt.from_config import verifiers_of
from bascule.identity.jwt.minting import KEY_VARIABLE, Mint, MintMark
from bascule.identity.jwt.verifier import Believes
from bascule.kit.admission import Admission
from bascule.kit.auth.middleware import AuthSessionMiddleware
from bascule.kit.auth.token_auth import TokenAuth
from bascule.kit.events.changes import ALL_LISTS, Changes
from bascule.kit.events.listen import Listening
from bascule.kit.request_context import Home
from bascule.kit.tools import GoverningProvider, governed, permissions_of

JSON = "application/json"


class Doorkeeper:
    """HTTP middleware that rejects, before anything else of a request is read, a foreign Host or Origin,
    and a body that is not JSON, which any web page can send. `paths` are those to which messages are posted."""

    def __init__(self, app: ASGIApp, *, rules: HouseRules, paths: tuple[str, ...]) -> None:
        self._app = app
        self._rules = rules
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            said = JSONResponse({"error": refusal.words}, status_code=refusal.status)
            await said(scope, receive, send)

    def _refusal(self, scope: Scope) -> TurnedAway | None:
        headers = Headers(scope=scope)
        ends = (scope.get("scheme", "http"), scope.get("client"), scope.get("server"))
        refusal = self._rules.turn_away(Knock(headers.getlist("host"), headers.getlist("origin"), *ends))
        if refusal is not None:
            return refusal
        if scope["method"] == "POST" and self._is_for_messages(scope):
            kind = headers.get("content-type", "")
            if kind.partition(";")[0].strip().lower() != JSON:
                return TurnedAway(415, f"the body must be {JSON}")
        return None

    def _is_for_messages(self, scope: Scope) -> bool:
        # Mounted in another app, the path has that app's part before ours.
        path = scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/")
        return any(path == each or path.startswith(f"{each}/") for each in self._paths)


BLANKS = b" \t"


class PlainHeaders:
    """Takes the blanks off around values. They belong to none (RFC 9110, 5.5), but not every parser of HTTP takes them
    off, and a header that has to agree with the body would else be refused for one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [(name, value.strip(BLANKS)) for name, value in scope["headers"]]}
        await self._app(scope, receive, send)


FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

FASTMCP = logging.getLogger("fastmcp")
"""Draws boxes as wide as a terminal, unless told otherwise: lines are cut, and all but a few frames of a traceback are
left out. What a client is not shown has to be found somewhere."""


@contextmanager
def plain_log(level: str | int | None = None) -> Generator[None]:
    """Logging while a kit server is served: plain lines on stderr, with whole tracebacks. If the author of the server
    has set up logging, the records go there instead.

    `level` is the log level of FastMCP. At the end, everything is put back.
    """
    root = logging.getLogger()
    handlers, propagates, said = [*FASTMCP.handlers], FASTMCP.propagate, FASTMCP.level
    mine = logging.StreamHandler() if not root.handlers else None
    if mine is not None:
        mine.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(mine)
    for handler in handlers:
        FASTMCP.removeHandler(handler)
    FASTMCP.propagate = True
    if level is not None:
        FASTMCP.setLevel(level.upper() if isinstance(level, str) else level)
    try:
        yield
    finally:
        FASTMCP.setLevel(said)
        FASTMCP.propagate = propagates
        for handler in handlers:
            FASTMCP.addHandler(handler)
        if mine is not None:
            root.removeHandler(mine)


class TellingServer(FastMCP[Any]):
    """FastMCP server that sends change notifications. FastMCP itself announces them to old clients and sends none; new
    clients cannot subscribe to any."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.changes = Changes()
        super().__init__(*args, **options)
        self.listening = Listening(self.changes, self._is_visible)
        self.listening.serve(self._mcp_server)

    def resource_updated(self, uri: str) -> None:
        """Tell the clients that watch it that a resource changed. May be called from any thread."""
        self.changes.tell(ResourceUpdated(uri))

    async def _is_visible(self, uri: str) -> bool:
        """Whether whoever asks could read it."""
        return await self.get_resource(uri) is not None or await self.get_resource_template(uri) is not None

    # What changes more than one thing may change every list.

    def add_provider(self, provider: Provider, *, namespace: str = "") -> None:
        super().add_provider(provider, namespace=namespace)
        self.changes.tell(*ALL_LISTS)

    def add_transform(self, transform: Transform) -> None:
        super().add_transform(transform)
        self.changes.tell(*ALL_LISTS)

    def enable(self, **criteria: Any) -> Self:
        super().enable(**criteria)
        self.changes.tell(*ALL_LISTS)
        return self

    def disable(self, **criteria: Any) -> Self:
        super().disable(**criteria)
        self.changes.tell(*ALL_LISTS)
        return self


DEVELOPMENT_SESSION = "development"


def create_mcp_server(
    name: str,
    *,
    auth: AuthSettings | None = None,
    development: str | Principal | None = None,
    url: str | None = None,
    scopes: Collection[str] = (),
    home: Home | None = None,
    **options: Any,
) -> "GovernedServer":
    """A FastMCP server with identity, permissions, workspaces and compliance. `options` are FastMCP's own.

    Over HTTP it lets in who shows a token that `auth` believes, and does not start without `auth`; `url` is the address
    at which clients reach it, where that is not the one that it listens at. Over stdio it serves whom the runtime that
    starts it names. For `development`, and on this machine alone, everybody can be one user.
    """
    if auth is not None and development is not None:
        raise ConfigError(
            "a server has either `auth` or a `development` principal",
            fix="remove `development`; `bascule token` makes tokens to try a server with",
        )
    if auth is not None and not isinstance(auth, AuthSettings):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(
            f"`auth` of a server of ours is an AuthSettings, and not {type(auth).__name__}",
            fix="from bascule.config import AuthSettings; without keys, it believes the runtime on this machine",
        )
    who = Principal(development, DEVELOPMENT_SESSION) if isinstance(development, str) else development
    return GovernedServer(name, Identities(auth, who, url, frozenset(scopes)), home or Home(name), **options)


class Identities:
    """Whom a server believes."""

    def __init__(
        self, auth: AuthSettings | None, development: Principal | None, url: str | None, scopes: frozenset[str]
    ) -> None:
        self.auth = auth
        self.development = development
        self.url = url
        self.scopes = scopes


class GovernedServer(TellingServer):
    """Made by `create_mcp_server`."""

    def __init__(self, name: str, identities: Identities, home: Home, **options: Any) -> None:
        self._identities = identities
        self.home = home
        self._session = AuthSessionMiddleware(home)
        self._session.fixed = identities.development
        self._admission = Admission(home.levels)
        self._verifier: Believes | None = None
        self._lives = options.pop("lifespan", None)
        # What nobody meant to tell stays in the log: a traceback may hold anything.
        options.setdefault("mask_error_details", True)
        tools: Sequence[Any] = options.pop("tools", None) or ()
        middleware = [self._session, *(options.pop("middleware", None) or ())]
        super().__init__(name, middleware=middleware, lifespan=self._living, **options)
        mine = GoverningProvider(self._admission, self.changes, on_duplicate=self._on_duplicate)
        self.providers[self.providers.index(self._local_provider)] = mine
        self._local_provider = mine
        for tool in tools:
            self.add_tool(tool)

    # Tools of other providers: what does not say what it does is not there.

    async def list_tools(self, *, run_middleware: bool = True) -> Sequence[Tool]:
        found = await super().list_tools(run_middleware=run_middleware)
        return [governed(tool, self._admission) for tool in found if permissions_of(tool) is not None]

    async def get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        return self._known(await super().get_tool(name, version))

    async def get_tool_by_hash(self, tool_hash: str, tool_name: str) -> Tool | None:
        return self._known(await super().get_tool_by_hash(tool_hash, tool_name))

    def _known(self, tool: Tool | None) -> Tool | None:
        return governed(tool, self._admission) if tool is not None and permissions_of(tool) is not None else None

    def believe(self, auth: AuthSettings, url: str | None = None) -> None:
        """Let in whom a config says, and nobody else, whatever was said in code. `url` is where clients reach it."""
        self._identities = Identities(auth, None, url, self._identities.scopes)
        self._session.fixed = None

    # Its doors

    async def run_async(self, transport: Any = None, show_banner: Any = None, **options: Any) -> None:
        # A log is read by programs too; the banner is shown to who asks for it.
        await super().run_async(transport, show_banner=bool(show_banner), **options)

    async def run_stdio_async(self, *args: Any, **options: Any) -> None:
        options.setdefault("show_banner", False)
        # Taken out: whatever the tools start must not find it.
        token = os.environ.pop(SPAWN_VARIABLE, None)
        if token is not None:
            self._session.fixed = await self._spawned_for(token)
            os.environ.pop(KEY_VARIABLE, None)
        with plain_log(options.pop("log_level", None)):
            await super().run_stdio_async(*args, **options)

    async def run_http_async(self, *args: Any, **options: Any) -> None:
        """With `socket`, at the file of that name and at no port: whoever may open it can ask, and nobody else."""
        options.setdefault("show_banner", False)
        host = options["host"] = options.get("host") or HOST
        port = options["port"] = PORT if options.get("port") is None else options["port"]
        if self._identities.development is not None and not _is_loopback(host):
            raise ConfigError(
                f"a development principal is for this machine alone, and {host} can be reached from others",
                fix=f"listen at {HOST}, or give `auth`",
            )
        socket = options.pop("socket", None)
        if self._identities.url is None:
            shown = f"[{host}]" if ":" in host else host
            known = port and "sockets" not in options and not _is_anywhere(host)
            place = "localhost" if socket else f"{shown}:{port}" if known else None
            self._identities.url = f"http://{place}{options.get('path') or PATH}" if place else None
        level = options.pop("log_level", None)
        # Its log goes where ours does.
        served: dict[str, Any] = {
            **({"uds": str(socket)} if socket else {}),
            "log_config": None,
            "log_level": str(level or "info").lower(),
            **(options.get("uvicorn_config") or {}),
        }
        with plain_log(level):
            await super().run_http_async(*args, **{**options, "uvicorn_config": served})

    def http_app(self, *args: Any, **options: Any) -> StarletteWithLifespan:
        identities = self._identities
        if identities.auth is not None:
            self.auth = self._token_auth(identities.auth)
        elif identities.development is None:
            raise ConfigError(
                f"the server {self.name!r} believes nobody, so it is not served over HTTP",
                fix='give create_mcp_server `auth`, or, on this machine alone, `development="your-name"`',
            )
        hosts, origins = self._allowed(options)
        # FastMCP looks at neither unless told to; a web page could else reach a server that listens on this machine.
        options |= {"host_origin_protection": True, "allowed_hosts": hosts, "allowed_origins": origins}
        app = super().http_app(*args, **options)
        paths = (app.state.path.rstrip("/"), settings.message_path.rstrip("/"))
        rules = HouseRules(
            hosts=tuple(host.lower() for host in hosts),
            origins=tuple(origin_of(origin) or origin for origin in origins),
            loopback_only=identities.development is not None,
        )
        app.add_middleware(Doorkeeper, rules=rules, paths=paths)
        app.add_middleware(PlainHeaders)
        return app

    def _allowed(self, options: dict[str, Any]) -> tuple[list[str], list[str]]:
        """By which names it may be called, and which web pages may ask: those that its author or operator names, and
        those of the address at which clients reach it."""
        hosts = [*(options.get("allowed_hosts") or settings.http_allowed_hosts or ())]
        origins = [*(options.get("allowed_origins") or settings.http_allowed_origins or ())]
        if self._identities.url is not None:
            parts = urlsplit(self._identities.url)
            hosts.append(parts.hostname or "")
            origins.append(f"{parts.scheme}://{parts.netloc}")
        return hosts, origins

    def _token_auth(self, auth: AuthSettings) -> TokenAuth:
        url = self._identities.url
        if url is None:
            raise ConfigError(
                f"it is not known at which address clients reach the server {self.name!r}",
                fix="give create_mcp_server `url`: tokens name the server they are for by it",
            )
        self._verifier = verifiers_of(auth, audience_of_url(url), self._believed_mint())
        issuers = (auth.issuer,) if auth.issuer else ()
        return TokenAuth(self._verifier, url, issuers, self._identities.scopes)

    def _believed_mint(self) -> MintMark:
        """Where the mark is named, the state folder is somebody else's, or not there: no key is made in it."""
        return MintMark.named(os.environ) or Mint.of(self.home.folder).mark

    async def _spawned_for(self, token: str) -> Principal:
        try:
            return (await self._believed_mint().verifier(AT_SPAWN).verify(token)).principal
        except BasculeError as error:
            sys.exit(f"{self.name}: {error.code}: {error.message}; {error.fix}")

    @asynccontextmanager
    async def _living(self, _server: FastMCP[Any]) -> AsyncGenerator[Any]:
        try:
            if self._lives is None:
                yield {}
            else:
                async with self._lives(self) as state:
                    yield state
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of what it holds. Called when it ends to be served."""
        self.listening.close()
        if self._verifier is not None:
            await self._verifier.aclose()
        self.home.close()


def _is_anywhere(host: str) -> bool:
    """Whether it stands for every address of this machine, so that no client reaches the server by it."""
    try:
        return ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


FIX = "make it with `mcp = create_mcp_server(…)` at the top level of the file"


def load_server(file: Path) -> GovernedServer:
    """The one server that the file makes. Raises `ConfigError`."""
    values = {id(value): value for value in vars(_run(file)).values()}.values()
    servers = [value for value in values if isinstance(value, GovernedServer)]
    if len(servers) == 1:
        return servers[0]
    if servers:
        names = ", ".join(repr(server.name) for server in servers)
        raise ConfigError(f"{file} makes several servers: {names}", fix="keep one of them in the file")
    if any(isinstance(value, FastMCP) for value in values):
        raise ConfigError(f"{file} makes its server with FastMCP itself, so nobody would be known there", fix=FIX)
    raise ConfigError(f"{file} makes no server", fix=FIX)


def _run(file: Path) -> ModuleType:
    spec = spec_from_file_location(f"bascule_target_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ConfigError(f"{file} is no Python file", fix="name the file that makes the server as `target`")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    # What lies beside it can be imported, as if it were run by itself.
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise ConfigError(
            f"{file} cannot be loaded: {type(error).__name__}: {error}",
            where=f"{last.filename}:{last.lineno}",
            fix=f"run `python {file}` to see all of it",
        ) from error
    return module
