"""HTTP serving of a runtime's gateway: builds the app from the config, opens its socket, and serves until it is
stopped."""

import socket
import time
from collections.abc import Callable
from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from bascule.config.model.gateway import GatewaySettings
from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.gateway.app import PATH, Gateway
from bascule.gateway.auth import Callers, Guests
from bascule.gateway.health import Signs
from bascule.gateway.http.body import Intake
from bascule.gateway.http.server import WebServer, listen_at
from bascule.gateway.mcp.sessions import OldSessions, SessionSeal
from bascule.identity.host_origin_check import HouseRules, is_loopback, origin_of
from bascule.identity.jwt.from_config import verifiers_of
from bascule.runtime.runtime import Runtime

NEEDS = "httptools"
"""Reads HTTP. It does not come with the core, which serves on stdin and stdout alone."""


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
    issuers = (auth.issuer,) if believes is not None and auth.issuer else ()
    signs = Signs(door.known_as, issuers, runtime.unready)
    telemetry = runtime.telemetry
    ended = None if telemetry is None else telemetry.counts.session_ended
    sessions = OldSessions(clock, seal, ended)
    app = Gateway(callers, Intake(runtime.config.message_max), rules_of(door), signs, sessions)
    if telemetry is not None:
        app.responded = telemetry.counts.responded
    return app


def rules_of(door: Door) -> HouseRules:
    """Whom the gateway lets in, before it is known who asks. Where clients reach it by another address than that at
    which it listens, pages that it serves have that one's origin."""
    named = urlsplit(door.known_as)
    origin = origin_of(f"{named.scheme}://{named.netloc}") if door.url is not None else None
    origins = () if origin is None else (origin,)
    return HouseRules((named.hostname or "",), origins, loopback_only=door.development is not None)


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
    if find_spec(NEEDS) is None:
        raise ConfigError(
            f"serving over HTTP needs {NEEDS}, which is not installed",
            fix="pip install 'bascule[gateway]', or serve one client with `bascule serve --stdio`",
        )
    fix = "stop what listens there, or choose another address with --host and --port"
    return listen_at(door.host, door.settings.port, named=f"{door.host}:{door.settings.port}", fix=fix)


def _is_anywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
