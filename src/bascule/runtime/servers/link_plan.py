"""Link plan of a configured server: its connection plan with timeouts, credentials, sandbox and callbacks."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from bascule.catalog.pages import Pages
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import SseTransport, secrets_of
from bascule.core.errors import BasculeError, SandboxError
from bascule.core.principal import Principal
from bascule.core.request import Leave
from bascule.core.sensitivity import Lane
from bascule.core.text.redaction import Mask
from bascule.records.log_messages import wanted_level
from bascule.sandbox.factory import UNBOXED, Boxing
from bascule.transports.auth.providers import Introducing
from bascule.transports.factory import by_older_way, dial, overheard
from bascule.transports.http.shared_connections import Hosts
from bascule.upstream.connection_plan import ServerPlan
from bascule.upstream.link import OnChange
from bascule.upstream.listing import admit_by_listing
from bascule.upstream.notifications import UNHEARD, Hears
from bascule.upstream.server_requests import Reception
from bascule.upstream.settings import Terms


def _client_info() -> Mapping[str, str]:
    from bascule import __version__  # noqa: PLC0415 -- the package's own root, read once

    return {"name": "bascule", "title": "Bascule", "version": __version__}


CLIENT_INFO = _client_info()

Said = Callable[[str, Principal, int, str], None]
"""Takes a line that a server wrote to stderr: the server, on whose behalf it runs, its process, the line."""


def unheard(_server: str, _principal: Principal, _pid: int, _line: str) -> None:
    """Takes what a server said, and lets it be."""


def mask_of(server: ServerConfig) -> Mask:
    return Mask((*secrets_of(server.transport), *server.oauth.secrets))


def plan_of(  # noqa: PLR0913 -- each is of another room
    server: ServerConfig,
    mask: Mask,
    *,
    max_message: int,
    reception: Reception,
    introducing: Introducing,
    boxing: Boxing = UNBOXED,
    lane: Lane = Lane.OPEN,
    leave: Leave | None = None,
    on_change: OnChange | None = None,
    said: Said = unheard,
    hears: Hears | None = None,
    hosts: Hosts | None = None,
) -> ServerPlan | BasculeError:
    """How to link to a server, or why that cannot be."""
    if server.unavailable_reason is not None:
        return server.unavailable_reason
    engine = boxing.engine_of(server)
    if isinstance(engine, SandboxError):
        return engine
    limits = server.timeouts
    # HTTP+SSE ended before the new era began.
    old = isinstance(server.transport, SseTransport) and server.era == "auto"
    terms = Terms(
        era="old" if old else server.era,
        connect=limits.connect,
        reconnect=limits.reconnect,
        probe=limits.probe,
        close=limits.close,
        interval=server.heartbeat.interval,
        stale_after=server.heartbeat.stale_after,
        attempts=server.restart.attempts,
        backoff=server.restart.backoff,
        lifetime=server.lifetime,
        client_info=CLIENT_INFO,
        capabilities=reception.capabilities,
        # On a link that everyone uses nobody could tell for whose sake a question is asked.
        offered={} if server.lifetime == "shared" else reception.offered,
        log_level=wanted_level(server.name),
    )
    told = {"introducing": introducing, "mask": mask, "max_message": max_message, "environ": os.environ}
    dialling = partial(dial, **told, boxing=boxing, lane=lane, hosts=hosts)
    older = by_older_way(server)
    return ServerPlan(
        terms,
        partial(overheard, partial(dialling, server), partial(said, server.name)),
        partial(admit_by_listing, collect=Pages, timeout=limits.list),
        mask,
        partial(dialling, older) if older is not None else None,
        reception.answer,
        on_change,
        hears or UNHEARD,
        leave,
    )
