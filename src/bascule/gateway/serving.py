"""Serves a runtime's gateway over HTTP, until it is told to stop."""

import socket
import time
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from bascule.config.gateway import GatewaySettings
from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.gateway.app import PATH, Gateway
from bascule.gateway.callers import Callers
from bascule.gateway.guests import Guests
from bascule.gateway.intake import Intake
from bascule.gateway.old_sessions import OldSessions
from bascule.gateway.session_seal import SessionSeal
from bascule.gateway.signs import Signs
from bascule.gateway.web_server import BACKLOG, WebServer
from bascule.identity.configured import verifiers_of
from bascule.identity.house_rules import HouseRules, is_loopback
from bascule.runtime.runtime import Runtime


class Door(msgspec.Struct, frozen=True):
    """Where the gateway listens, and by which address clients know it."""

    settings: GatewaySettings
    url: str | None = None
    """Where clients reach it, if not where it listens: behind a proxy, say."""
    development: Principal | None = None
    """Who everybody is. Only this machine may ask then."""
    guests: Guests | None = None
    """Who is somebody else nevertheless."""

    @property
    def host(self) -> str:
        return self.settings.host

    @property
    def known_as(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return self.url or f"http://{shown}:{self.settings.port}{PATH}"


def check_door(door: Door) -> None:
    """Raises `ConfigError` for one through which anybody could come in as somebody."""
    local = door.host == "localhost" or is_loopback(door.host)
    if door.development is not None and not local:
        raise ConfigError(
            f"one principal for everybody is for this machine alone, and {door.host} can be reached from others",
            fix="listen at 127.0.0.1, or say under `gateway.auth` whose tokens are believed",
        )
    if door.development is None and not door.settings.auth.keys:
        raise ConfigError(
            "nobody would be let in: there is no key by which a token could be believed",
            fix="give `gateway.auth`; to try it out on this machine alone, `bascule serve --dev`",
        )
    if door.url is None and _is_anywhere(door.host):
        raise ConfigError(
            f"{door.host} stands for every address of this machine, and tokens are for one",
            fix="say with --url where clients reach it",
        )


def gateway_of(
    runtime: Runtime, door: Door, clock: Callable[[], float] = time.time, seal: SessionSeal | None = None
) -> Gateway:
    """The app, for a runtime that runs. `seal` is what several gateways know their sessions by."""
    check_door(door)
    auth = door.settings.auth
    believes = verifiers_of(auth, door.known_as, None) if door.development is None else None
    callers = Callers(runtime, believes, clock, development=door.development, guests=door.guests)
    named = urlsplit(door.known_as)
    rules = HouseRules(
        hosts=(named.hostname or "",),
        origins=(),
        loopback_only=door.development is not None,
    )
    issuers = (auth.issuer,) if believes is not None and auth.issuer else ()
    signs = Signs(door.known_as, issuers, runtime.unready)
    telemetry = runtime.telemetry
    ended = None if telemetry is None else telemetry.counts.session_ended
    sessions = OldSessions(clock, seal, ended)
    app = Gateway(callers, Intake(runtime.config.message_max), rules, signs, sessions)
    if telemetry is not None:
        app.responded = telemetry.counts.responded
    return app


async def serve(app: Gateway, listening: socket.socket, on_ready: Callable[[Callable[[], None]], None]) -> None:
    """Until what `on_ready` was given is called. Requests under way are answered first."""
    server = WebServer(app, app.readiness)

    def stop() -> None:
        # Streams last for as long as their clients want, and nobody waits for that.
        app.streams.close()
        server.stop()

    on_ready(stop)
    try:
        await server.serve(listening, on_started=app.readiness.begin)
    finally:
        await app.close()


def listen(door: Door) -> socket.socket:
    """The socket at which it listens. Raises `ConfigError` where there can be none."""
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((door.host, door.settings.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen at {door.host}:{door.settings.port}: {error.strerror}",
            fix="stop what listens there, or choose another address with --host and --port",
        ) from error
    return listening


def _is_anywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
