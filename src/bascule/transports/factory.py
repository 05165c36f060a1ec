"""Transport factory: picks the dispatcher for a server from its config, and imports it only when it is needed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from bascule.config import (
    ContainerTransport,
    InProcessTransport,
    NativeTransport,
    ServerConfig,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    UnixSocketTransport,
    WebSocketTransport,
)
from bascule.config.secret import reveal_all
from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.core.text.redaction import Mask
from bascule.sandbox.factory import UNBOXED, Boxing, Ordering
from bascule.sandbox.process.child import Command
from bascule.sandbox.process.environment import SAFE_BASE, child_environment, let_through
from bascule.transports.auth.providers import Introducing, Who
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.http.shared_connections import Hosts, Kin


def dial(  # noqa: PLR0913 -- each is of another room
    server: ServerConfig,
    principal: Principal,
    *,
    introducing: Introducing,
    mask: Mask,
    max_message: int,
    environ: Mapping[str, str],
    boxing: Boxing = UNBOXED,
    lane: Lane = Lane.OPEN,
    hosts: Hosts | None = None,
) -> Dispatcher:
    """A dispatcher that is not open yet, on somebody's behalf. What a server is told of them is hidden by `mask`."""
    who = introducing.of(server, principal, mask)
    box = boxing.ordering(server, lane, principal)
    kin = Kin(hosts, (lane, principal)) if hosts is not None else None
    return dispatcher_for(server, max_message=max_message, environ=environ, who=who, box=box, kin=kin)


def overheard(
    dialling: Callable[[Principal], Dispatcher], said: Callable[[Principal, int, str], None], principal: Principal
) -> Dispatcher:
    """A connection of which is told what its server writes to stderr: on whose behalf it runs, its process, a line."""
    from bascule.transports.process.dispatcher import ProcessDispatcher  # noqa: PLC0415 -- see below

    dialled = dialling(principal)
    if isinstance(dialled, ProcessDispatcher):
        dialled.on_line = partial(said, principal)
    return dialled


def dispatcher_for(
    server: ServerConfig,
    *,
    max_message: int,
    environ: Mapping[str, str],
    who: Who | None = None,
    box: Ordering | None = None,
    kin: Kin | None = None,
) -> Dispatcher:
    """A dispatcher that is not open yet. If it is to a process, that runs in a box, where there is an ordering."""
    who = who or Who()
    match server.transport:
        case StdioTransport() as stdio:
            return _stdio(stdio, max_message, environ, who, box)
        case ContainerTransport() as inside:
            return _inside(inside, max_message, environ, who)
        case StreamableHttpTransport() | UnixSocketTransport() as http:
            return _http(http, max_message, server.timeouts.connect, who, kin)
        case WebSocketTransport() as ws:
            from bascule.transports.websocket.dispatcher import WebSocketDispatcher  # noqa: PLC0415 -- aiohttp takes half a second

            headers, limit = reveal_all(ws.headers), server.timeouts.connect
            return WebSocketDispatcher(ws.url, headers, max_message=max_message, connect_timeout=limit)
        case InProcessTransport() | NativeTransport() as here:
            return _here(here, max_message, who)
        case SseTransport() as sse:
            from bascule.transports.http.legacy_sse import SseDispatcher  # noqa: PLC0415 -- aiohttp takes half a second

            headers, limit = reveal_all(sse.headers), server.timeouts.connect
            return SseDispatcher(
                sse.url, headers, max_message=max_message, connect_timeout=limit, login=who.at(sse.url)
            )
        case _:
            raise server.unavailable_reason or ConfigError(f"{server.name} has no transport")


def _http(
    http: StreamableHttpTransport | UnixSocketTransport,
    max_message: int,
    limit: float,
    who: Who,
    kin: Kin | None,
) -> Dispatcher:
    from bascule.transports.http.dispatcher import HttpDispatcher  # noqa: PLC0415 -- see above

    made = partial(HttpDispatcher, max_message=max_message, connect_timeout=limit, kin=kin)
    headers = reveal_all(http.headers)
    if isinstance(http, UnixSocketTransport):
        url = f"http://localhost{http.path}"
        # Nobody logs in at a socket file; a server of ours may ask who it is all the same.
        return made(url, headers, socket=http.socket, login=who.token_at(url) or who.printed)
    return made(http.url, headers, login=who.at(http.url))


def _here(here: InProcessTransport | NativeTransport, max_message: int, who: Who) -> Dispatcher:
    """To what runs in this process."""
    if isinstance(here, NativeTransport):
        from bascule.transports.inprocess.python_tools import NativeDispatcher  # noqa: PLC0415 -- most runtimes have none

        return NativeDispatcher(here.tools, max_message=max_message, principal=who.principal)
    from bascule.transports.inprocess.memory import MemoryDispatcher  # noqa: PLC0415 -- imports the SDK

    return MemoryDispatcher(here.server, max_message=max_message, principal=who.principal)


def by_older_way(server: ServerConfig) -> ServerConfig | None:
    """The same server by the way that was usual before, where the config leaves open which of them it takes."""
    match server.transport:
        case StreamableHttpTransport(choice="auto") as http:
            return replace(server, transport=SseTransport(http.url, http.headers))
        case _:
            return None


def _stdio(
    stdio: StdioTransport, max_message: int, environ: Mapping[str, str], who: Who, box: Ordering | None
) -> Dispatcher:
    configured = reveal_all(stdio.env)
    env = child_environment(configured, stdio.inherit_env, environ)
    if who.told is not None:
        env = {**env, **(who.told.at_spawn() if box is None else who.told.in_box(box.lane))}
    command = Command((stdio.command, *stdio.args), env, stdio.cwd)
    # What the operator let pass by name is as likely a secret as what was configured.
    hidden = (*configured.values(), *(value for name, value in env.items() if name not in SAFE_BASE))
    if box is not None and box.engine.kind == "docker":
        from bascule.transports.process.docker_exec import DockerExecDispatcher  # noqa: PLC0415 -- see above

        return DockerExecDispatcher(box.of(command), max_message=max_message, environ=environ, hidden=hidden)
    from bascule.transports.process.stdio import StdioDispatcher  # noqa: PLC0415 -- see above

    started = command if box is None else box.of(command)
    return StdioDispatcher(started, max_message=max_message, hidden=hidden)


def _inside(inside: ContainerTransport, max_message: int, environ: Mapping[str, str], who: Who) -> Dispatcher:
    from bascule.sandbox.spec.engine import Run  # noqa: PLC0415 -- see above
    from bascule.transports.process.docker_exec import DockerExecDispatcher  # noqa: PLC0415 -- see above

    # Without the safe base: our PATH and HOME mean nothing in there, and the container has its own.
    env = {**let_through(inside.inherit_env, environ), **reveal_all(inside.env)}
    if who.told is not None:
        env = {**env, **who.told.at_spawn()}
    run = Run(inside.container, (inside.command, *inside.args), env, inside.cwd)
    return DockerExecDispatcher(run, max_message=max_message, environ=environ, hidden=tuple(env.values()))
