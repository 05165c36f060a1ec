"""Picks the transport for a server from its config. Each kind is imported only when a server of that kind is opened."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from bascule.config import (
    InProcessTransport,
    ServerConfig,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.secret import reveal_all
from bascule.core.errors import ConfigError
from bascule.core.masking import Mask
from bascule.core.principal import Nobody, Principal
from bascule.sandbox.child import Command
from bascule.sandbox.environment import SAFE_BASE, child_environment
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.http_credentials import Credentials
from bascule.transports.http_logins import Logins


def dial(
    server: ServerConfig,
    principal: Principal,
    *,
    logins: Logins | None,
    mask: Mask,
    max_message: int,
    environ: Mapping[str, str],
) -> Dispatcher:
    """A dispatcher that is not open yet, on somebody's behalf. What a login brings is hidden by `mask`; without
    `logins`, nobody logs in there."""
    # What is nobody's in particular must not use the login of whoever happens to have that name.
    user = f"\0{principal}" if isinstance(principal, Nobody) else principal.user_id
    login = logins.of(server, user, mask) if logins is not None else None
    return dispatcher_for(server, max_message=max_message, environ=environ, login=login)


def overheard(
    dialling: Callable[[Principal], Dispatcher], said: Callable[[Principal, int, str], None], principal: Principal
) -> Dispatcher:
    """A connection of which is told what its server writes to stderr: on whose behalf it runs, its process, a line."""
    from bascule.transports.stdio import StdioDispatcher  # noqa: PLC0415 -- see below

    dialled = dialling(principal)
    if isinstance(dialled, StdioDispatcher):
        dialled.on_line = partial(said, principal)
    return dialled


def dispatcher_for(
    server: ServerConfig, *, max_message: int, environ: Mapping[str, str], login: Credentials | None = None
) -> Dispatcher:
    """A dispatcher that is not open yet. `login` says who we are to a remote server."""
    match server.transport:
        case StdioTransport() as stdio:
            return _stdio(stdio, max_message, environ)
        case StreamableHttpTransport() | UnixSocketTransport() as http:
            return _http(http, max_message, server.timeouts.connect, login)
        case WebSocketTransport() as ws:
            from bascule.transports.ws import WebSocketDispatcher  # noqa: PLC0415 -- aiohttp takes half a second

            headers, limit = reveal_all(ws.headers), server.timeouts.connect
            return WebSocketDispatcher(ws.url, headers, max_message=max_message, connect_timeout=limit)
        case InProcessTransport() as process:
            from bascule.transports.memory import MemoryDispatcher  # noqa: PLC0415 -- imports the SDK

            return MemoryDispatcher(process.server, max_message=max_message)
        case SseTransport() as sse:
            from bascule.transports.sse import SseDispatcher  # noqa: PLC0415 -- aiohttp takes half a second

            headers, limit = reveal_all(sse.headers), server.timeouts.connect
            return SseDispatcher(sse.url, headers, max_message=max_message, connect_timeout=limit, login=login)
        case _:
            raise server.unavailable_reason or ConfigError(f"{server.name} has no transport")


def _http(
    http: StreamableHttpTransport | UnixSocketTransport, max_message: int, limit: float, login: Credentials | None
) -> Dispatcher:
    from bascule.transports.http import HttpDispatcher  # noqa: PLC0415 -- see above

    headers = reveal_all(http.headers)
    if isinstance(http, UnixSocketTransport):
        url, socket = f"http://localhost{http.path}", http.socket
        return HttpDispatcher(url, headers, max_message=max_message, connect_timeout=limit, socket=socket)
    return HttpDispatcher(http.url, headers, max_message=max_message, connect_timeout=limit, login=login)


def by_older_way(server: ServerConfig) -> ServerConfig | None:
    """The same server by the way that was usual before, where the config leaves open which of them it takes."""
    match server.transport:
        case StreamableHttpTransport(choice="auto") as http:
            return replace(server, transport=SseTransport(http.url, http.headers))
        case _:
            return None


def _stdio(stdio: StdioTransport, max_message: int, environ: Mapping[str, str]) -> Dispatcher:
    from bascule.transports.stdio import StdioDispatcher  # noqa: PLC0415 -- see above

    configured = reveal_all(stdio.env)
    env = child_environment(configured, stdio.inherit_env, environ)
    command = Command((stdio.command, *stdio.args), env, stdio.cwd)
    # What the operator let pass by name is as likely a secret as what was configured.
    inherited = (value for name, value in env.items() if name not in SAFE_BASE)
    return StdioDispatcher(command, max_message=max_message, hidden=(*configured.values(), *inherited))
